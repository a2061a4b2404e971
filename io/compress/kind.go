// Package compress recognises compressed data by its first bytes and decompresses it:
// gzip (RFC 1952) and Zstandard (RFC 8878).
//
// Its errors name the compression and what is wrong with the data, not the file: the
// caller knows the name and adds it.
package compress

import "fmt"

// Kind is a compression.
type Kind int

const (
	None Kind = iota
	Gzip
	Zstd
)

func (k Kind) String() string {
	switch k {
	case None:
		return "none"
	case Gzip:
		return "gzip"
	case Zstd:
		return "zstd"
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

// headBytes is the number of first bytes that Sniff needs at most.
const headBytes = 4

// sniff returns the compression of a file from its first bytes, None if they are too
// few or unknown.
func sniff(head []byte) Kind {
	switch {
	case len(head) >= 2 && head[0] == 0x1f && head[1] == 0x8b:
		return Gzip
	case len(head) < 4:
		return None
	case head[0] == 0x28 && head[1] == 0xb5 && head[2] == 0x2f && head[3] == 0xfd:
		return Zstd
	// A skippable frame (RFC 8878 §3.1.2). Parallel compressors put one first.
	case head[0]&0xf0 == 0x50 && head[1] == 0x2a && head[2] == 0x4d && head[3] == 0x18:
		return Zstd
	}
	return None
}
