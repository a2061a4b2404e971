package engine

import (
	"reflect"
	"testing"
)

func TestWithDefaultsIsIdempotent(t *testing.T) {
	for _, given := range []Engine{{}, {Threads: 3}, {Runner: Direct, Threads: 2}} {
		once := given.WithDefaults()
		if twice := once.WithDefaults(); !reflect.DeepEqual(twice, once) {
			t.Errorf("defaults of %+v: %+v, then %+v", given, once, twice)
		}
	}
}
