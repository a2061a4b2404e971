package rows

import (
	"bytes"
	"testing"
)

// A value that is decoded is encoded in one form, from which it is decoded the same, bit for bit.
func FuzzCodecsAreStable(f *testing.F) {
	for _, r := range someResults {
		b, err := encodeResult(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, x := range someSums {
		b, err := encodeSummed(x)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := decodeResult(b); err == nil {
			once, _ := encodeResult(r)
			again, err := decodeResult(once)
			if twice, _ := encodeResult(again); err != nil || !bytes.Equal(once, twice) {
				t.Errorf("a result is %x, and read again %x, %v", once, twice, err)
			}
		}
		x, err := decodeSummed(b)
		if err != nil {
			return
		}
		once, err := encodeSummed(x)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeSummed(once)
		if err != nil {
			t.Fatalf("%x cannot be read: %v", once, err)
		}
		if twice, err := encodeSummed(again); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("a sum is %x, and read again %x, %v", once, twice, err)
		}
	})
}

// Any counts of workers are added or rejected.
func FuzzCountsAreAdded(f *testing.F) {
	f.Add([]byte(`{"read":3,"rejected":1,"classes":[1,1],"copies":"AQ=="}`),
		[]byte(`{"read":2,"classes":[1],"copies":"AQ=="}`))
	f.Add([]byte(`{}`), []byte(`{"copies":""}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x, err := decodeCount(a)
		if err != nil {
			return
		}
		y, err := decodeCount(b)
		if err != nil {
			return
		}
		sum, err := x.add(y)
		if err != nil {
			return
		}
		if other, err := y.add(x); err != nil || other.Read != sum.Read || sum.Read != x.Read+y.Read ||
			!bytes.Equal(other.Copies, sum.Copies) {
			t.Errorf("%+v and %+v, %v", sum, other, err)
		}
	})
}
