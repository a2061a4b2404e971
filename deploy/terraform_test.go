package deploy

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/models"
)

// terraform reads all files and returns their blocks by type and labels, such as
// resource.google_storage_bucket.temp, with the source of each.
func terraform(t *testing.T) (blocks map[string]*hclsyntax.Block, source map[string]string) {
	t.Helper()
	names, err := filepath.Glob("terraform/*.tf")
	if err != nil || len(names) < 5 {
		t.Fatalf("%v: %v", names, err)
	}
	p := hclparse.NewParser()
	blocks, source = map[string]*hclsyntax.Block{}, map[string]string{}
	for _, name := range names {
		f, diags := p.ParseHCLFile(name)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		for _, b := range f.Body.(*hclsyntax.Body).Blocks {
			key := strings.Join(append([]string{b.Type}, b.Labels...), ".")
			if blocks[key] != nil && len(b.Labels) > 0 {
				t.Errorf("%s twice", key)
			}
			blocks[key] = b
			source[key] = string(b.Range().SliceBytes(f.Bytes)) +
				string(f.Bytes[b.OpenBraceRange.Start.Byte:b.CloseBraceRange.End.Byte])
		}
	}
	return blocks, source
}

// Every name that an expression refers to is declared.
func TestTerraformReferencesAreDeclared(t *testing.T) {
	blocks, _ := terraform(t)
	locals := map[string]bool{}
	for name := range blocks["locals"].Body.Attributes {
		locals[name] = true
	}
	used := map[string]bool{}
	for key, b := range blocks {
		hclsyntax.VisitAll(b.Body, func(n hclsyntax.Node) hcl.Diagnostics {
			e, ok := n.(*hclsyntax.ScopeTraversalExpr)
			if !ok {
				return nil
			}
			var parts []string
			for _, step := range e.Traversal {
				switch s := step.(type) {
				case hcl.TraverseRoot:
					parts = append(parts, s.Name)
				case hcl.TraverseAttr:
					parts = append(parts, s.Name)
				}
			}
			switch root := parts[0]; {
			case root == "var":
				used[parts[1]] = true
				if blocks["variable."+parts[1]] == nil {
					t.Errorf("%s: var.%s is not declared", key, parts[1])
				}
			case root == "local":
				if !locals[parts[1]] {
					t.Errorf("%s: local.%s is not declared", key, parts[1])
				}
			case strings.HasPrefix(root, "google_"):
				if blocks["resource."+root+"."+parts[1]] == nil {
					t.Errorf("%s: %s.%s is not declared", key, root, parts[1])
				}
			case !slices.Contains([]string{"path", "each", "string", "number"}, root):
				t.Errorf("%s: unknown %s", key, strings.Join(parts, "."))
			}
			return nil
		})
	}
	for key, b := range blocks {
		if b.Type == "variable" && !used[b.Labels[0]] {
			t.Errorf("%s is not used", key)
		}
		if b.Type == "variable" && b.Body.Attributes["description"] == nil {
			t.Errorf("%s is not described", key)
		}
	}
}

// roles returns the roles that a block gives: its own, or the keys that it is for each of.
func roles(t *testing.T, b *hclsyntax.Block) (list []string) {
	t.Helper()
	role, each := b.Body.Attributes["role"], b.Body.Attributes["for_each"]
	if role == nil {
		return nil
	}
	exprs := []hclsyntax.Expression{role.Expr}
	if _, diags := role.Expr.Value(nil); diags.HasErrors() && each != nil {
		exprs = nil
		for _, item := range each.Expr.(*hclsyntax.ObjectConsExpr).Items {
			exprs = append(exprs, item.KeyExpr)
		}
	}
	for _, expr := range exprs {
		v, diags := expr.Value(nil)
		if diags.HasErrors() {
			t.Fatalf("%v: a role that only Terraform knows: %v", b.Labels, diags)
		}
		list = append(list, v.AsString())
	}
	return list
}

// No account has a role that is wider than its task.
func TestAccountsHaveLeastRights(t *testing.T) {
	blocks, source := terraform(t)
	allowed := []string{
		"roles/artifactregistry.reader", "roles/compute.networkUser", "roles/dataflow.developer", "roles/dataflow.worker",
		"roles/iam.serviceAccountUser", "roles/logging.logWriter", "roles/run.jobsExecutorWithOverrides",
		"roles/run.viewer", "roles/secretmanager.secretAccessor", "roles/storage.legacyBucketReader",
		"roles/storage.objectUser",
		"roles/storage.objectViewer", "roles/workflows.invoker",
	}
	n := 0
	for key, b := range blocks {
		for _, role := range roles(t, b) {
			n++
			if !slices.Contains(allowed, role) {
				t.Errorf("%s: role %s", key, role)
			}
			if role == "roles/iam.serviceAccountUser" && b.Labels[0] != "google_service_account_iam_member" {
				t.Errorf("%s may act as any account of the project", key)
			}
			if strings.HasPrefix(role, "roles/storage.") && b.Labels[0] != "google_storage_bucket_iam_member" {
				t.Errorf("%s: storage of the whole project", key)
			}
		}
	}
	if n < 10 {
		t.Errorf("%d roles seen", n)
	}
	for _, account := range []string{"launcher", "worker", "workflow", "scheduler"} {
		if blocks["resource.google_service_account."+account] == nil {
			t.Errorf("no account %s", account)
		}
	}
	for key := range blocks {
		if strings.Contains(key, "service_account_key") {
			t.Errorf("%s: a key can be lost", key)
		}
	}
	// Workers cannot say which model is champion, nor change the history.
	workers, registry := source["resource.google_storage_bucket_iam_member.worker_models"], source["locals"]
	if !strings.Contains(workers, "local.not_registry") {
		t.Errorf("%s", workers)
	}
	for _, name := range []string{models.AliasFile, "history/", "reports/"} {
		if !strings.Contains(registry, "${local.objects}"+name) {
			t.Errorf("workers may write %s", name)
		}
	}
}

// The subnetwork and the APIs that a retraining needs are declared, and workers have private addresses.
func TestWorkersHavePrivateAddresses(t *testing.T) {
	_, source := terraform(t)
	c := parsedConfig(t, "retrain.yaml", "retrain", read(t, "retrain.yaml"))
	if c["no_use_public_ips"] != true || c["subnetwork"] != "regions/europe-west4/subnetworks/bochner" {
		t.Errorf("%v, %v", c["no_use_public_ips"], c["subnetwork"])
	}
	subnet := source["resource.google_compute_subnetwork.bochner"]
	for _, want := range []string{`"bochner"`, "private_ip_google_access = true", "google_compute_network.bochner.id"} {
		if !strings.Contains(subnet, want) {
			t.Errorf("the subnetwork has no %s", want)
		}
	}
	for _, api := range []string{"artifactregistry", "cloudscheduler", "compute", "dataflow", "monitoring", "run",
		"secretmanager", "storage", "workflows", "workflowexecutions"} {
		if !strings.Contains(source["resource.google_project_service.api"], `"`+api+`.googleapis.com"`) {
			t.Errorf("the API %s is not switched on", api)
		}
	}
}

// Every exit code that is not retried has an alert, and so has a run that never began.
func TestExitCodesHaveAlerts(t *testing.T) {
	_, source := terraform(t)
	text, policy := read(t, "terraform/alerts.tf"), source["resource.google_monitoring_alert_policy.retrain_outcome"]
	for _, code := range finalOutcomes {
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^ +"%d" += ".+"$`, code)).MatchString(text) {
			t.Errorf("nobody is told of exit code %d", code)
		}
	}
	for _, want := range []string{"for_each", "Container called exit(${each.key}).", "notification_rate_limit"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the alert has no %s", want)
		}
	}
	if source["resource.google_monitoring_alert_policy.retrain_not_started"] == "" {
		t.Error("nobody is told of a run that never began")
	}
}

// lifecycle returns, by number of days, the prefixes of the names whose old versions are deleted then. A rule for all
// names has the prefix "".
func lifecycle(t *testing.T, bucket *hclsyntax.Block) map[int64][]string {
	t.Helper()
	rules := map[int64][]string{}
	for _, rule := range bucket.Body.Blocks {
		if rule.Type != "lifecycle_rule" {
			continue
		}
		condition := rule.Body.Blocks[0].Body.Attributes
		days, prefixes := condition["days_since_noncurrent_time"], []string{""}
		if days == nil {
			continue
		}
		v, _ := days.Expr.Value(nil)
		n, _ := v.AsBigFloat().Int64()
		if p := condition["matches_prefix"]; p != nil {
			list, _ := p.Expr.Value(nil)
			prefixes = nil
			for _, one := range list.AsValueSlice() {
				prefixes = append(prefixes, one.AsString())
			}
		}
		rules[n] = prefixes
	}
	return rules
}

// The rule for old versions covers the names that two nights and a stream wrote with the flags of these files.
func TestOldVersionsOfPrivateFilesExpireInADay(t *testing.T) {
	blocks, _ := terraform(t)
	rules := lifecycle(t, blocks["resource.google_storage_bucket.bochner"])
	kept := func(name string) int64 {
		days := int64(1 << 30)
		for n, prefixes := range rules {
			if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
				days = min(days, n)
			}
		}
		return days
	}
	retrain, stream := parsedConfig(t, "retrain.yaml", "retrain", read(t, "retrain.yaml")), read(t, "k8s/stream.yaml")
	places := []string{
		fmt.Sprint(retrain["models"], "/2026-11-20-46b84f71"),
		fmt.Sprint(retrain["sums_dir"], "/43ae513e9ea37979/2026-11-20-f342f1f7"),
	}
	for _, m := range regexp.MustCompile(`--(?:out|dead_letters)=(\S+)`).FindAllStringSubmatch(stream, -1) {
		places = append(places, m[1], m[1]+"/today")
	}
	if len(places) != 6 {
		t.Fatal(places)
	}
	const bucket = "gs://BUCKET/"
	for _, place := range places {
		dir, base := storage.Split(place)
		work := storage.Join(dir, ".bochner-"+base)
		for _, name := range []string{storage.ClaimName(place), storage.Join(work, "lock"),
			storage.Join(work, "state", "sums-0.bin")} {
			if days := kept(strings.TrimPrefix(name, bucket)); days != 1 {
				t.Errorf("old versions of %s stay for %d days", name, days)
			}
		}
	}
	for name, want := range map[string]int64{
		"models/.retrain-lock": 1, "models/" + models.AliasFile: 90, "models/2026-11-20-46b84f71/weights.safetensors": 90,
		"models/history/00000001.json": 90, "data/dt=2026-11-20/part-0.csv": 90,
		"predictions/dt=2026-11-20/a.csv.predictions.csv": 90,
	} {
		if days := kept(name); days != want {
			t.Errorf("old versions of %s stay for %d days, want %d", name, days, want)
		}
	}
}

func TestBucketsKeepModelsAndForgetTemporaryFiles(t *testing.T) {
	_, source := terraform(t)
	kept, temp := source["resource.google_storage_bucket.bochner"], source["resource.google_storage_bucket.temp"]
	for _, want := range []string{"versioning", "days_since_noncurrent_time", "uniform_bucket_level_access = true",
		"public_access_prevention"} {
		if !strings.Contains(kept, want) {
			t.Errorf("the bucket of models has no %s", want)
		}
	}
	for _, want := range []string{"age = 7", "retention_duration_seconds = 0", "uniform_bucket_level_access = true",
		"public_access_prevention"} {
		if !strings.Contains(temp, want) {
			t.Errorf("the bucket of temporary files has no %s", want)
		}
	}
	for key, parts := range map[string][]string{
		"resource.google_cloud_run_v2_job.retrain": {`"retrain", "--config=/etc/bochner/retrain.yaml"`,
			"google_service_account.launcher.email"},
		"resource.google_workflows_workflow.retrain": {"workflows/retrain.yaml",
			"google_service_account.workflow"},
		"resource.google_cloud_scheduler_job.retrain": {"google_workflows_workflow.retrain.id",
			"google_service_account.scheduler"},
		"resource.google_monitoring_alert_policy.retrain_failed": {"finished_execution_count", `\"FAILED\"`},
		"resource.google_monitoring_alert_policy.job_runs_long":  {"job/elapsed_time", `bochner-`},
		"resource.google_secret_manager_secret_version.config":   {"../retrain.yaml"},
		"variable.image":  {"sha256"},
		"output.champion": {"models@champion"},
		"resource.google_artifact_registry_repository.images":                {"immutable_tags = true"},
		"resource.google_monitoring_notification_channel.email":              {"var.alert_email"},
		"resource.google_service_account_iam_member.launcher_acts_as_worker": {"google_service_account.worker.name"},
	} {
		for _, part := range parts {
			if !strings.Contains(source[key], part) {
				t.Errorf("%s has no %s", key, part)
			}
		}
	}
}

func TestTerraformIsFormatted(t *testing.T) {
	if _, err := exec.LookPath("terraform"); err != nil {
		t.Skip("no terraform on this machine to format with")
	}
	if out, err := exec.Command("terraform", "fmt", "-check", "-diff", "terraform").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
