package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/bochner-ml/bochner/io/storage"
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

// maxTries and the pauses let a request wait for about half a minute in all.
const maxTries = 10

var firstPause, lastPause = 100 * time.Millisecond, 8 * time.Second

// pause waits before the next try.
func pause(ctx context.Context, try int) error {
	wait := min(firstPause<<try, lastPause)
	select {
	case <-time.After(wait/2 + rand.N(wait)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failure is an answer that is not a success.
type failure struct {
	Status  int    `xml:"-"`
	Code    string `xml:"Code"`
	Message string `xml:"Message"`
	Region  string `xml:"-"`
}

func (f *failure) Error() string {
	return fmt.Sprintf("the server answers %d %s %s", f.Status, f.Code, f.Message)
}

// again reports whether the request may succeed later.
func (f *failure) again() bool {
	return f.Status >= 500 || f.Status == http.StatusTooManyRequests || f.Status == http.StatusRequestTimeout
}

// get asks for an object or a listing, again if that fails for a while. The caller closes the body.
func (s *s3) get(ctx context.Context, method string, o object, query string, header http.Header) (*http.Response, error) {
	c, err := configure()
	if err != nil {
		return nil, err
	}
	for try := 0; ; try++ {
		r, err := once(ctx, c, method, c.address(o.bucket, o.name, query), header)
		var f *failure
		if err == nil || ctx.Err() != nil || errors.As(err, &f) && !f.again() || try == maxTries-1 {
			return r, s.answer(ctx, c, o, err)
		}
		if err := pause(ctx, try); err != nil {
			return nil, err
		}
	}
}

func once(ctx context.Context, c *config, method, address string, header http.Header) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		q.Header[name] = values
	}
	q.Header.Set("Accept-Encoding", "identity")
	if c.id != "" {
		c.sign(q, c.region, time.Now())
	}
	r, err := client.Do(q)
	if err != nil || r.StatusCode/100 == 2 {
		return r, err
	}
	defer r.Body.Close()
	f := &failure{Status: r.StatusCode, Region: r.Header.Get("X-Amz-Bucket-Region")}
	_ = xml.NewDecoder(io.LimitReader(r.Body, 1<<16)).Decode(f) // HEAD has no body, and proxies have others
	return nil, f
}

// answer explains an error.
func (s *s3) answer(ctx context.Context, c *config, o object, err error) error {
	f, is := errors.AsType[*failure](err)
	if !is {
		return err
	}
	said := func(kind error, format string, args ...any) error {
		return &storage.Reason{Answer: true, Text: fmt.Sprintf(format, args...), Kind: kind}
	}
	switch {
	case f.Status == http.StatusPreconditionFailed:
		return storage.ErrChanged
	case f.Code == "NoSuchBucket":
		return said(storage.ErrNoBucket, "there is no bucket %s (404); check its name, and AWS_ENDPOINT_URL", o.bucket)
	case f.Status == http.StatusNotFound:
		if f.Code == "" && o.name != "" { // HEAD does not say which is missing
			if _, err := s.page(ctx, object{bucket: o.bucket}, "-", "", "", 1); errors.Is(err, storage.ErrNoBucket) {
				return err
			}
		}
		return said(fs.ErrNotExist, "there is no such file (404); check its name, and the name of the bucket %s", o.bucket)
	case f.Status == http.StatusMovedPermanently || f.Status == http.StatusTemporaryRedirect ||
		f.Code == "AuthorizationHeaderMalformed":
		return said(nil, "the bucket %s is in another region than %s; set AWS_REGION=%s", o.bucket, c.region, f.Region)
	case f.Status == http.StatusForbidden || f.Status == http.StatusUnauthorized:
		who := "the account of the key " + c.id
		if c.id == "" {
			who = "everybody, because there are no credentials (set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or " +
				"AWS_PROFILE for ~/.aws/credentials),"
		}
		return said(fs.ErrPermission, "access denied (%s); check the name of the bucket %s, and that %s has the rights "+
			"s3:GetObject and s3:ListBucket there", strings.TrimSpace(fmt.Sprint(f.Status, " ", f.Code)), o.bucket, who)
	}
	return err
}
