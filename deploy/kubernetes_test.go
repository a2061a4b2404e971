package deploy

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// object returns what a manifest is of, as far as it is of a kind of Kubernetes.
var object = map[string]func() any{
	"v1/ServiceAccount":                        func() any { return new(corev1.ServiceAccount) },
	"v1/ConfigMap":                             func() any { return new(corev1.ConfigMap) },
	"v1/Service":                               func() any { return new(corev1.Service) },
	"v1/PersistentVolumeClaim":                 func() any { return new(corev1.PersistentVolumeClaim) },
	"apps/v1/Deployment":                       func() any { return new(appsv1.Deployment) },
	"batch/v1/Job":                             func() any { return new(batchv1.Job) },
	"batch/v1/CronJob":                         func() any { return new(batchv1.CronJob) },
	"flink.apache.org/v1beta1/FlinkDeployment": func() any { return new(flinkDeployment) },
	"monitoring.coreos.com/v1/PrometheusRule":  func() any { return new(prometheusRule) },
}

// prometheusRule are the fields of the Prometheus operator's kind that are in use here.
type prometheusRule struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   metav1.ObjectMeta `json:"metadata"`
	Spec       struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []struct {
				Alert       string            `json:"alert"`
				Expr        string            `json:"expr"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"rules"`
		} `json:"groups"`
	} `json:"spec"`
}

// GetName returns the name, as the kinds of Kubernetes do.
func (r *prometheusRule) GetName() string { return r.Metadata.Name }

// flinkDeployment are the fields of the Flink operator's kind that are in use here.
type flinkDeployment struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Spec struct {
		Image              string            `json:"image"`
		FlinkVersion       string            `json:"flinkVersion"`
		ServiceAccount     string            `json:"serviceAccount"`
		FlinkConfiguration map[string]string `json:"flinkConfiguration"`
		PodTemplate        template          `json:"podTemplate"`
		JobManager         flinkProcess      `json:"jobManager"`
		TaskManager        flinkProcess      `json:"taskManager"`
	} `json:"spec"`
}

type template struct {
	Spec corev1.PodSpec `json:"spec"`
}

type flinkProcess struct {
	Replicas int `json:"replicas"`
	Resource struct {
		Memory string  `json:"memory"`
		CPU    float64 `json:"cpu"`
	} `json:"resource"`
	PodTemplate template `json:"podTemplate"`
}

// manifests reads a file strictly: a field that its kind does not have is an error.
func manifests(t *testing.T, name string) (objects []any) {
	t.Helper()
	for i, text := range strings.Split(read(t, name), "\n---\n") {
		var head struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal([]byte(text), &head); err != nil {
			t.Fatalf("%s, part %d: %v", name, i+1, err)
		}
		make, ok := object[head.APIVersion+"/"+head.Kind]
		if !ok {
			t.Errorf("%s, part %d: unknown %s/%s", name, i+1, head.APIVersion, head.Kind)
			continue
		}
		o := make()
		if err := yaml.UnmarshalStrict([]byte(text), o); err != nil {
			t.Errorf("%s, part %d: %v", name, i+1, err)
		}
		objects = append(objects, o)
	}
	return objects
}

// GetName returns the name, as the kinds of Kubernetes do.
func (f *flinkDeployment) GetName() string { return f.Metadata.Name }

// find returns the object of a type with a name.
func find[O any](t *testing.T, objects []any, name string) *O {
	t.Helper()
	for _, o := range objects {
		if found, ok := o.(*O); ok && o.(interface{ GetName() string }).GetName() == name {
			return found
		}
	}
	t.Fatalf("no %T of name %s", *new(O), name)
	return nil
}

// checkPod checks what every pod of ours has to have.
func checkPod(t *testing.T, where string, pod corev1.PodSpec) {
	t.Helper()
	if pod.SecurityContext == nil || pod.SecurityContext.RunAsNonRoot == nil || !*pod.SecurityContext.RunAsNonRoot {
		t.Errorf("%s may run as root", where)
	} else if u := pod.SecurityContext.RunAsUser; u == nil || *u <= 0 { // Kubernetes does not look names up
		t.Errorf("%s: no number of a user", where)
	}
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
			t.Errorf("%s: %s has no limits", where, c.Name)
		}
		if c.SecurityContext == nil || c.SecurityContext.AllowPrivilegeEscalation == nil ||
			*c.SecurityContext.AllowPrivilegeEscalation {
			t.Errorf("%s: %s may gain rights", where, c.Name)
		}
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("%s: %s: no volume %s", where, c.Name, m.Name)
			}
		}
		if strings.HasSuffix(c.Image, ":latest") || !strings.Contains(c.Image, ":") {
			t.Errorf("%s: image %s has no version", where, c.Image)
		}
	}
}

// finalCodes are those that another try does not change; a retraining has more.
var finalCodes, finalOutcomes = []int32{2, 3, 4, 6}, []int32{2, 3, 4, 6, 8, 9, 10}

func checkFailurePolicy(t *testing.T, where string, p *batchv1.PodFailurePolicy, codes []int32) {
	t.Helper()
	if p == nil || p.Rules[0].Action != batchv1.PodFailurePolicyActionFailJob ||
		!slices.Equal(p.Rules[0].OnExitCodes.Values, codes) {
		t.Errorf("%s: tries again what will fail again", where)
	}
}

func TestCronJobRetrains(t *testing.T) {
	objects := manifests(t, "k8s/cronjob.yaml")
	config := find[corev1.ConfigMap](t, objects, "bochner-retrain")
	flags := parsedConfig(t, "k8s/cronjob.yaml", "retrain", config.Data["retrain.yaml"])
	scheduled := parsedConfig(t, "retrain.yaml", "retrain", read(t, "retrain.yaml"))
	for name, value := range flags {
		if scheduled[name] != value {
			t.Errorf("%s is %v here and %v in retrain.yaml", name, value, scheduled[name])
		}
	}

	c := find[batchv1.CronJob](t, objects, "bochner-retrain")
	job := c.Spec.JobTemplate.Spec
	checkPod(t, c.Name, job.Template.Spec)
	find[corev1.ServiceAccount](t, objects, job.Template.Spec.ServiceAccountName)
	checkFailurePolicy(t, c.Name, job.PodFailurePolicy, finalOutcomes)
	container := job.Template.Spec.Containers[0]
	if job.PodFailurePolicy.Rules[0].OnExitCodes.ContainerName == nil ||
		*job.PodFailurePolicy.Rules[0].OnExitCodes.ContainerName != container.Name {
		t.Error("the exit codes belong to another container")
	}
	cmd := parsed(t, "k8s/cronjob.yaml", slices.Clone(container.Args))
	if cmd.Name() != "retrain" || cmd.Flags().Lookup("config").Value.String() != container.VolumeMounts[0].MountPath+
		"/retrain.yaml" || cmd.Flags().Lookup("day").Value.String() != "yesterday" {
		t.Errorf("%v", container.Args)
	}
	// All tries are on one day, so that yesterday is the same for all.
	fields := strings.Fields(c.Spec.Schedule)
	minute, _ := strconv.Atoi(fields[0])
	hour, err := strconv.Atoi(fields[1])
	var begun int64
	if d := c.Spec.StartingDeadlineSeconds; d != nil {
		begun = *d
	}
	if end := int64(hour*3600+minute*60) + begun + *job.ActiveDeadlineSeconds; err != nil || end > 24*3600 ||
		c.Spec.TimeZone == nil || *c.Spec.TimeZone != "Etc/UTC" {
		t.Errorf("%s: tries end %d seconds after midnight in %v", c.Spec.Schedule, end-24*3600, c.Spec.TimeZone)
	}
	if c.Spec.ConcurrencyPolicy != batchv1.ForbidConcurrent {
		t.Errorf("%+v", c.Spec)
	}
}

// The stream reads the registry that the CronJob writes, and never has a second replica.
func TestStreamFollowsTheChampion(t *testing.T) {
	d := find[appsv1.Deployment](t, manifests(t, "k8s/stream.yaml"), "bochner-stream")
	pod := d.Spec.Template.Spec
	checkPod(t, d.Name, pod)
	night := manifests(t, "k8s/cronjob.yaml")
	find[corev1.ServiceAccount](t, night, pod.ServiceAccountName)
	cmd := parsed(t, "k8s/stream.yaml", slices.Clone(pod.Containers[0].Args))
	value := func(flag string) string { return cmd.Flags().Lookup(flag).Value.String() }
	retrain := parsedConfig(t, "k8s/cronjob.yaml", "retrain",
		find[corev1.ConfigMap](t, night, "bochner-retrain").Data["retrain.yaml"])
	if cmd.Name() != "predict" || value("stream") != "true" ||
		value("model") != fmt.Sprint(retrain["models"], "@champion") {
		t.Errorf("%v; models are in %v", pod.Containers[0].Args, retrain["models"])
	}
	if *d.Spec.Replicas != 1 || d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType ||
		d.Spec.Selector.MatchLabels["app"] != d.Spec.Template.Labels["app"] {
		t.Errorf("%+v", d.Spec)
	}
	image := find[batchv1.CronJob](t, night, "bochner-retrain").Spec.JobTemplate.Spec.Template.Spec.Containers[0].Image
	if pod.Containers[0].Image != image {
		t.Errorf("image %s; the CronJob has %s", pod.Containers[0].Image, image)
	}
}

// The alerts select the jobs of the CronJob, one of them jobs that never started, and explain the final exit
// codes.
func TestAlertRulesWatchTheCronJob(t *testing.T) {
	rule := find[prometheusRule](t, manifests(t, "k8s/alerts.yaml"), "bochner-retrain")
	cron := find[batchv1.CronJob](t, manifests(t, "k8s/cronjob.yaml"), "bochner-retrain")
	text := ""
	for _, g := range rule.Spec.Groups {
		for _, r := range g.Rules {
			if !strings.Contains(r.Expr, cron.Name) || !strings.Contains(r.Expr, cron.Namespace) ||
				r.Annotations["summary"] == "" || r.Labels["severity"] == "" {
				t.Errorf("%+v", r)
			}
			text += r.Expr + r.Annotations["description"]
		}
	}
	for _, want := range []string{"kube_job_failed", "BackoffLimitExceeded", "DeadlineExceeded",
		"kube_cronjob_status_last_successful_time"} {
		if !strings.Contains(text, want) {
			t.Errorf("nobody is told of %s", want)
		}
	}
	for _, code := range finalOutcomes {
		if !regexp.MustCompile(fmt.Sprintf(`\b%d\b[,:]`, code)).MatchString(text) {
			t.Errorf("exit code %d is not explained", code)
		}
	}
}

// stateMetrics are the labels of the metrics of kube-state-metrics that a rule may use, as its
// docs/metrics/workload and internal/store/job.go have them, and the values that it gives reason.
// kube_pod_container_status_last_terminated_exitcode is not among them: it is the code of a
// container that was started again, and the pods of a Job with a failure policy never are.
var (
	stateMetrics = map[string][]string{
		"kube_job_failed":                          {"namespace", "job_name", "condition"},
		"kube_job_status_failed":                   {"namespace", "job_name", "reason"},
		"kube_job_status_start_time":               {"namespace", "job_name"},
		"kube_cronjob_status_last_successful_time": {"namespace", "cronjob"},
	}
	stateReasons = []string{"BackoffLimitExceeded", "DeadlineExceeded", "Evicted"}
)

func TestAlertsUseExportedMetrics(t *testing.T) {
	rule := find[prometheusRule](t, manifests(t, "k8s/alerts.yaml"), "bochner-retrain")
	metric, label := regexp.MustCompile(`\bkube_\w+(\{[^}]*\})?`), regexp.MustCompile(`(\w+)=~?"([^"]*)"`)
	for _, r := range rule.Spec.Groups[0].Rules {
		for _, use := range metric.FindAllString(r.Expr, -1) {
			name, _, _ := strings.Cut(use, "{")
			labels, exported := stateMetrics[name]
			if !exported {
				t.Errorf("%s: no metric %s", r.Alert, name)
			}
			for _, l := range label.FindAllStringSubmatch(use, -1) {
				if exported && !slices.Contains(labels, l[1]) {
					t.Errorf("%s: %s has no label %s", r.Alert, name, l[1])
				}
				for _, reason := range strings.Split(l[2], "|") {
					if l[1] == "reason" && !slices.Contains(stateReasons, reason) {
						t.Errorf("%s: %s has no reason %s", r.Alert, name, reason)
					}
				}
			}
		}
	}
}

func TestFlinkManifestsMatchTheTestedVersions(t *testing.T) {
	session := find[flinkDeployment](t, manifests(t, "flink/session.yaml"), "bochner")
	server := manifests(t, "flink/jobserver.yaml")
	deployment := find[appsv1.Deployment](t, server, "bochner-jobserver").Spec.Template.Spec
	service := find[corev1.Service](t, server, "bochner-jobserver")
	job := find[batchv1.Job](t, manifests(t, "flink/train.yaml"), "bochner-train")

	// Flink and Beam's runner are those that the tests run on: see ../local/flink.
	flinkVersion, runner := tested(t)
	version := flinkVersion[:strings.LastIndexByte(flinkVersion, '.')]
	if image := deployment.Containers[0].Image; image != "apache/beam_flink"+version+"_job_server:"+runner {
		t.Errorf("job server %s, tested %s for Flink %s", image, runner, version)
	}
	if session.Spec.FlinkVersion != "v"+strings.ReplaceAll(version, ".", "_") ||
		session.Spec.Image != "flink:"+flinkVersion+"-java17" {
		t.Errorf("%s in image %s, tested %s", session.Spec.FlinkVersion, session.Spec.Image, flinkVersion)
	}
	readme, err := os.ReadFile("flink/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("Flink %s, Beam's runner %s, Go SDK %s", flinkVersion, runner,
		beam(t)); !strings.Contains(string(readme), want) {
		t.Errorf("flink/README.md does not say what is tested: %s", want)
	}
	// The driver finds the server, the server Flink, and Flink the pool.
	pod := job.Spec.Template.Spec
	checkPod(t, "flink/train.yaml", pod)
	checkFailurePolicy(t, "flink/train.yaml", job.Spec.PodFailurePolicy, finalCodes)
	flags := parsed(t, "flink/train.yaml", slices.Clone(pod.Containers[0].Args)).Flags()
	if got := flags.Lookup("endpoint").Value.String(); got != fmt.Sprintf("%s:%d", service.Name,
		service.Spec.Ports[0].Port) {
		t.Errorf("the driver asks %s", got)
	}
	if !slices.Contains(deployment.Containers[0].Args, "--flink-master="+session.Metadata.Name+"-rest:8081") {
		t.Errorf("the server asks %v", deployment.Containers[0].Args)
	}
	workers := session.Spec.TaskManager.PodTemplate.Spec.Containers[1]
	if got := flags.Lookup("environment_config").Value.String(); got != fmt.Sprintf("localhost:%d",
		workers.Ports[0].ContainerPort) || !slices.Equal(workers.Args, []string{"--worker_pool"}) {
		t.Errorf("Flink asks %s, the pool is %v", got, workers)
	}
	slots := session.Spec.TaskManager.Replicas * 4
	if session.Spec.FlinkConfiguration["taskmanager.numberOfTaskSlots"] != "4" ||
		flags.Lookup("readers").Value.String() != fmt.Sprint(slots) ||
		flags.Lookup("parallelism").Value.String() != fmt.Sprint(slots) {
		t.Errorf("%d slots: %v", slots, pod.Containers[0].Args)
	}
	// A path that the driver and the workers share is on one volume.
	claims := func(p corev1.PodSpec) map[string]string {
		out := map[string]string{}
		for _, v := range p.Volumes {
			if v.PersistentVolumeClaim != nil {
				out[v.Name] = v.PersistentVolumeClaim.ClaimName
			}
		}
		return out
	}
	flink := claims(session.Spec.PodTemplate.Spec)
	if claims(pod)["data"] != flink["data"] || claims(deployment)["artifacts"] != flink["artifacts"] ||
		flink["data"] == "" || flink["artifacts"] == "" {
		t.Errorf("volumes: driver %v, server %v, Flink %v", claims(pod), claims(deployment), flink)
	}
	if workers.VolumeMounts[0].MountPath != pod.Containers[0].VolumeMounts[0].MountPath {
		t.Error("the data have two names")
	}
	for _, claim := range flink {
		find[corev1.PersistentVolumeClaim](t, server, claim)
	}
}

// tested returns the versions of Flink and of Beam's runner for it on which
// local/flink runs jobs.
func tested(t *testing.T) (flink, runner string) {
	t.Helper()
	found := func(file, pattern string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(pattern).FindSubmatch(text)
		if m == nil {
			t.Fatalf("%s has no %s", file, pattern)
		}
		return string(m[1])
	}
	return found("../local/flink/sums.txt", `flink-runtime-([\d.]+)\.jar`), found("../local/flink/sums.txt",
		`beam-runners-flink-[\d.]+-([\d.]+)\.jar`)
}
