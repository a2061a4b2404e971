package gcs

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"strings"

	"cloud.google.com/go/auth"
	gcstorage "cloud.google.com/go/storage"
	"google.golang.org/api/googleapi"

	"github.com/bochner-ml/bochner/io/storage"
	"github.com/bochner-ml/bochner/io/storage/objects"
)

const noCredentials = "no Google credentials found; run gcloud auth application-default login, or let " +
	"GOOGLE_APPLICATION_CREDENTIALS name the key file of a service account"

// transient reports whether a request that failed with err may succeed later.
func transient(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	timeout, ok := errors.AsType[net.Error](err)
	return gcstorage.ShouldRetry(err) || ok && timeout.Timeout()
}

// status returns the HTTP status of an error, 0 if it has none.
func status(err error) int {
	if errors.Is(err, gcstorage.ErrObjectNotExist) || errors.Is(err, gcstorage.ErrBucketNotExist) {
		return http.StatusNotFound
	}
	if e, ok := errors.AsType[*googleapi.Error](err); ok {
		return e.Code
	}
	return 0
}

// answer explains the error of a request about an object that requires a right.
func (g *gcs) answer(ctx context.Context, right string, o objects.Name, err error) error {
	e, ok := errors.AsType[*googleapi.Error](err)
	text := ""
	if ok && e.Message != "" {
		text = ": " + strings.TrimSuffix(e.Message, ".")
	}
	switch status(err) {
	case 0:
		if credentials, ok := errors.AsType[*auth.Error](err); ok {
			return objects.Answerf(nil, "the Google credentials are not accepted (%v); run gcloud auth application-default "+
				"login",
				credentials)
		}
		return err
	case http.StatusUnauthorized:
		return objects.Answerf(nil, "the Google credentials are not accepted (401%s); run gcloud auth application-default "+
			"login", text)
	case http.StatusForbidden:
		if limited(e) {
			return err
		}
		return objects.Answerf(fs.ErrPermission, "access denied (403%s); check the name of the bucket %s, and that %s has "+
			"the right %s there", text, o.Bucket, account(), right)
	case http.StatusNotFound:
		if o.Name == "" || errors.Is(err, gcstorage.ErrBucketNotExist) || !g.bucketThere(ctx, o.Bucket) {
			return objects.Answerf(storage.ErrNoBucket, "there is no bucket %s (404); check its name", o.Bucket)
		}
		return objects.Answerf(fs.ErrNotExist, "there is no such file (404); check its name, and the name of the bucket %s", o.Bucket)
	}
	return err
}

// limited reports whether access is denied only because of too many requests.
func limited(e *googleapi.Error) bool {
	if e == nil {
		return false
	}
	reasons := e.Body // of a download that fails
	for _, i := range e.Errors {
		reasons += i.Reason
	}
	return strings.Contains(reasons, "ateLimitExceeded")
}

// bucketThere reports whether a bucket exists, as far as the account can see. It asks once
// per process.
func (g *gcs) bucketThere(ctx context.Context, bucket string) bool {
	if _, seen := g.buckets.Load(bucket); seen {
		return true
	}
	client, err := g.connect(ctx)
	if err == nil {
		it := client.Bucket(bucket).Objects(ctx, &gcstorage.Query{Prefix: "-"})
		it.PageInfo().MaxSize = 1
		_, err = it.Next()
	}
	if status(err) == http.StatusNotFound {
		return false
	}
	g.buckets.Store(bucket, nil)
	return true
}

// unmet reports whether a condition of a request did not hold.
func unmet(err error) bool {
	return status(err) == http.StatusPreconditionFailed || status(err) == http.StatusNotModified
}
