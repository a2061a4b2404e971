// Package safetensors writes and reads the safetensors format: a file of named
// arrays that holds nothing to execute and declares all its sizes up front.
//
// The file is the length of the header (8 bytes, little-endian), the header, and
// the data. The header is a JSON object that gives for each name the type of
// the numbers, the shape, and where in the data the array is, and for the name
// __metadata__ a map of strings to strings. The data are row-major,
// little-endian, and without holes. The format is described at
// https://github.com/huggingface/safetensors.
//
// The package also writes NPY, the array format of NumPy, in its version 1.0. That format is described at
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
package safetensors
