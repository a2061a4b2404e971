package s3

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/internal/pause"
	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/io/storage/objects"
)

// client makes the requests. It never follows redirects, whose signatures would be wrong.
var client = &http.Client{
	Transport: func() http.RoundTripper {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.ResponseHeaderTimeout, t.MaxIdleConnsPerHost = 60*time.Second, 64
		return t
	}(),
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// maxTries, with the pauses, lets a request wait for about half a minute in all.
const maxTries = 10

var firstPause, lastPause = 100 * time.Millisecond, 8 * time.Second

// backOff waits before the next try.
func backOff(ctx context.Context, try int) error {
	wait := min(firstPause<<try, lastPause)
	return pause.For(ctx, wait/2+rand.N(wait))
}

// failure is a response that is not a success.
type failure struct {
	Status  int    `xml:"-"`
	Code    string `xml:"Code"`
	Message string `xml:"Message"`
	Region  string `xml:"-"`
}

func (f *failure) Error() string {
	return fmt.Sprintf("the server answers %d %s %s", f.Status, f.Code, f.Message)
}

// mayRepeat reports whether the request may succeed later.
func (f *failure) mayRepeat() bool {
	return f.Status >= 500 && f.Status != http.StatusNotImplemented || f.Status == http.StatusTooManyRequests ||
		f.Status == http.StatusRequestTimeout || f.Code == "ConditionalRequestConflict" || f.Code == "OperationAborted"
}

// failed returns the failure that an error is, or one without a status.
func failed(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	return &failure{}
}

// request is a request about an object, or about a bucket if the name is empty. The parts of the query are in the
// order of their names, as signatures require.
type request struct {
	method string
	object objects.Name
	query  string
	header http.Header
	body   []byte
}

// send makes a request, retries it if it fails temporarily, and calls use with the response.
func (s *s3) send(ctx context.Context, q request, use func(*http.Response) error) error {
	c, err := configure()
	if err == nil {
		err = checkBucket(q.object.Bucket)
	}
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		r, err := q.once(ctx, c)
		if err == nil {
			err = use(r)
		}
		if f := failed(err); err == nil || ctx.Err() != nil || f.Status != 0 && !f.mayRepeat() || try == maxTries-1 {
			return err
		}
		if err := backOff(ctx, try); err != nil {
			return err
		}
	}
}

// get asks for an object. The caller closes the body.
func (s *s3) get(ctx context.Context, q request) (r *http.Response, err error) {
	err = s.send(ctx, q, func(answer *http.Response) error { r = answer; return nil })
	return r, s.answer(ctx, reading, q.object, err)
}

// ask makes a request with a small response, which it decodes into into unless that is nil. It returns the header.
func (s *s3) ask(ctx context.Context, q request, into any) (h http.Header, err error) {
	err = s.send(ctx, q, func(r *http.Response) error {
		defer r.Body.Close()
		data, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
		h = r.Header
		if err != nil || into == nil {
			return err
		}
		f := &failure{Status: http.StatusInternalServerError} // may come with a status of success
		if bytes.Contains(data, []byte("<Error>")) && xml.Unmarshal(data, f) == nil && f.Code != "" {
			return f
		}
		return xml.Unmarshal(data, into)
	})
	return h, err
}

// once makes a request once.
func (q request) once(ctx context.Context, c *config) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, q.method, c.address(q.object.Bucket, q.object.Name, q.query),
		bytes.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	for name, values := range q.header {
		r.Header[name] = values
	}
	r.Header.Set("Accept-Encoding", "identity")
	if c.id != "" {
		c.sign(r, q.body, c.region, time.Now())
	}
	a, err := client.Do(r)
	if err != nil || a.StatusCode/100 == 2 {
		return a, err
	}
	defer a.Body.Close()
	f := &failure{Status: a.StatusCode, Region: a.Header.Get("X-Amz-Bucket-Region")}
	_ = xml.NewDecoder(io.LimitReader(a.Body, 1<<16)).Decode(f) // HEAD has no body, and proxies have others
	return nil, f
}

// checkBucket returns an error for an invalid name of a bucket.
func checkBucket(name string) error {
	if strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '.' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return storage.Invalidf("%q is not the name of a bucket", name)
	}
	return nil
}

// The rights that requests need.
const (
	reading = "s3:GetObject and s3:ListBucket"
	writing = "s3:GetObject, s3:PutObject, s3:DeleteObject, s3:ListBucket, s3:ListBucketMultipartUploads and " +
		"s3:AbortMultipartUpload"
)

// answer explains an error of a request that needs rights.
func (s *s3) answer(ctx context.Context, rights string, o objects.Name, err error) error {
	f, ok := errors.AsType[*failure](err)
	if !ok {
		return err
	}
	c, failed := configure()
	if failed != nil {
		return failed
	}
	switch {
	case f.Status == http.StatusPreconditionFailed:
		return storage.ErrChanged
	case f.Code == "NoSuchBucket":
		return objects.Answerf(storage.ErrNoBucket, "there is no bucket %s (404); check its name, and AWS_ENDPOINT_URL", o.Bucket)
	case f.Status == http.StatusNotFound:
		if f.Code == "" && o.Name != "" { // HEAD does not say which is missing
			if _, err := s.page(ctx, o.Bucket, objects.Query{Prefix: "-", Limit: 1}, ""); errors.Is(err, storage.ErrNoBucket) {
				return err
			}
		}
		return objects.Answerf(fs.ErrNotExist, "there is no such file (404); check its name, and the name of the bucket %s", o.Bucket)
	case f.Status == http.StatusMovedPermanently || f.Status == http.StatusTemporaryRedirect ||
		f.Code == "AuthorizationHeaderMalformed":
		return objects.Answerf(nil, "the bucket %s is in another region than %s; set AWS_REGION=%s", o.Bucket, c.region, f.Region)
	case f.Status == http.StatusForbidden || f.Status == http.StatusUnauthorized:
		who := "the account of the key " + c.id
		if c.id == "" {
			who = "everybody, because there are no credentials (set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or " +
				"AWS_PROFILE for ~/.aws/credentials),"
		}
		return objects.Answerf(fs.ErrPermission, "access denied (%s); check the name of the bucket %s, and that %s has "+
			"the rights %s there", strings.TrimSpace(fmt.Sprint(f.Status, " ", f.Code)), o.Bucket, who, rights)
	}
	return err
}

// credentials are the keys of an account; without any, requests are not signed, as public buckets allow.
type credentials struct{ id, secret, token string }

// signed are the headers that signatures cover, in addition to Amazon's own.
var signed = []string{"if-match", "if-none-match", "range"}

// sign adds the signature of a request with the given body (AWS Signature Version 4,
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
		name = strings.ToLower(name)
		if strings.HasPrefix(name, "x-amz-") || slices.Contains(signed, name) {
			values[name] = strings.TrimSpace(v[0])
		}
	}
	names := slices.Sorted(maps.Keys(values))
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

// escape escapes a part of a query as signatures require: all characters except letters, digits and -._~.
func escape(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// escapePath is escape except for slashes.
func escapePath(text string) string { return strings.ReplaceAll(escape(text), "%2F", "/") }
