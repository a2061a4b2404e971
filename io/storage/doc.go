// Package storage lists, reads and publishes files of the local disk, and of the schemes that packages below
// it register: a program that imports io/storage/gcs knows gs://bucket/object, and one that imports
// io/storage/s3 knows s3://bucket/object. Names are paths, or begin with a scheme.
//
// Output of this package is never partly visible: a file appears under its name when it
// is complete, a directory when all of its files are. Buckets have no directories: there
// a directory exists once its last file does, the manifest.
//
// A Watch finds files as they appear under patterns. It stores no state: the outputs of the work show
// which files are done. It remembers only names that match now or did in the last ten minutes. So a
// file that vanishes for longer and comes back is returned again, and its user must check whether it
// is done.
package storage
