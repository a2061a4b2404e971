package s3

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// credentials are the keys of an account; without any, requests are not signed, as public buckets allow.
type credentials struct{ id, secret, token string }

// signed are the headers that signatures cover, in addition to Amazon's own.
var signed = []string{"if-match", "if-none-match", "range"}

// sign adds the signature of a request with that body (AWS Signature Version 4,
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html).
func (c credentials) sign(r *http.Request, body []byte, region string, now time.Time) {
	stamp := now.UTC().Format("20060102T150405Z")
	r.Header.Set("X-Amz-Date", stamp)
	hash := sha256.Sum256(body)
	content := hex.EncodeToString(hash[:])
	r.Header.Set("X-Amz-Content-Sha256", content)
	if c.token != "" {
		r.Header.Set("X-Amz-Security-Token", c.token)
	}
	values := map[string]string{"host": r.URL.Host}
	for name, v := range r.Header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-amz-") || slices.Contains(signed, name) {
			values[name] = strings.TrimSpace(v[0])
		}
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	var headers strings.Builder
	for _, name := range names {
		headers.WriteString(name + ":" + values[name] + "\n")
	}
	list := strings.Join(names, ";")
	canonical := strings.Join([]string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, headers.String(), list, content},
		"\n")
	sum := sha256.Sum256([]byte(canonical))
	scope := stamp[:8] + "/" + region + "/s3/aws4_request"
	text := "AWS4-HMAC-SHA256\n" + stamp + "\n" + scope + "\n" + hex.EncodeToString(sum[:])
	key := []byte("AWS4" + c.secret)
	for _, part := range []string{stamp[:8], region, "s3", "aws4_request", text} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+c.id+"/"+scope+",SignedHeaders="+list+",Signature="+
		hex.EncodeToString(key))
}

// escape escapes a path or a part of a query as signatures require: all characters except letters, digits and
// -._~, and slashes only in queries.
func escape(text string, slashes bool) string {
	text = strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
	if !slashes {
		text = strings.ReplaceAll(text, "%2F", "/")
	}
	return text
}
