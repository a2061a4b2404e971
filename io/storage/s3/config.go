package s3

import (
	"bufio"
	"cmp"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/bochner-ml/bochner/io/storage"
)

// config says how to reach the service.
type config struct {
	credentials
	region   string
	endpoint *url.URL // nil for Amazon's own
}

// configure reads the variables and files that Amazon's tools read: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
// AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, and the profile AWS_PROFILE of
// ~/.aws/credentials and ~/.aws/config.
func configure() (*config, error) {
	profile := cmp.Or(os.Getenv("AWS_PROFILE"), "default")
	home, _ := os.UserHomeDir()
	file := func(variable, name, section string) map[string]string {
		return readProfile(cmp.Or(os.Getenv(variable), filepath.Join(home, ".aws", name)), section)
	}
	keys := file("AWS_SHARED_CREDENTIALS_FILE", "credentials", profile)
	section := profile
	if profile != "default" {
		section = "profile " + profile
	}
	more := file("AWS_CONFIG_FILE", "config", section)
	c := &config{credentials: credentials{os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"),
		os.Getenv("AWS_SESSION_TOKEN")}}
	for _, from := range []map[string]string{keys, more} {
		if c.id == "" {
			c.credentials = credentials{from["aws_access_key_id"], from["aws_secret_access_key"], from["aws_session_token"]}
		}
	}
	c.region = cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), more["region"], "us-east-1")
	where := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), more["endpoint_url"])
	if where == "" {
		return c, nil
	}
	u, err := url.Parse(where)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, storage.Invalid("AWS_ENDPOINT_URL is %q; want an address such as https://storage.example.com", where)
	}
	c.endpoint = u
	return c, nil
}

// readProfile returns the settings of a section of a file of Amazon's tools; none if there is no such file.
func readProfile(name, section string) map[string]string {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	settings := map[string]string{}
	here := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		switch key, value, is := strings.Cut(line, "="); {
		case strings.HasPrefix(line, "["):
			here = strings.TrimSpace(strings.Trim(line, "[]")) == section
		case here && is && !strings.HasPrefix(line, "#"):
			settings[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return settings
}

// address returns the URL of an object, or of a bucket if the name is empty: the bucket is part of the host on
// Amazon's servers, and of the path on others.
func (c *config) address(bucket, name, query string) string {
	base, path := "https://"+bucket+".s3."+c.region+".amazonaws.com", ""
	switch {
	case c.endpoint != nil:
		base, path = strings.TrimRight(c.endpoint.String(), "/"), "/"+escape(bucket, true)
	case strings.Contains(bucket, "."): // which certificates of hosts do not cover
		base, path = "https://s3."+c.region+".amazonaws.com", "/"+escape(bucket, true)
	}
	path += "/" + escape(name, false)
	if query != "" {
		path += "?" + query
	}
	return base + path
}
