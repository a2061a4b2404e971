package rounds

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// MaxPartitions is the largest number of partitions that rows are assigned to.
const MaxPartitions = 1 << 14

// Files returns what decode makes of the content of a file that the options of a
// learner name. A caller that opens many states may remember the last ones.
type Files func(uri string, decode func([]byte) (any, error)) (any, error)

// Opener makes a learner of its options in JSON.
type Opener func(options []byte, files Files) (Learner, error)

// OpenerOf returns the opener of a learner whose options name no files.
func OpenerOf[O any, L Learner](make func(O) (L, error)) Opener {
	return func(options []byte, _ Files) (Learner, error) {
		var o O
		if err := json.Unmarshal(options, &o); err != nil {
			return nil, fmt.Errorf("rounds: options of the learner: %w", err)
		}
		return make(o)
	}
}

var openers = struct {
	sync.RWMutex
	of map[string]Opener
}{of: map[string]Opener{}}

// Register makes a kind of learner known, so that a worker can make it from what it is
// sent. Packages call it from init. It panics if the name is empty or taken.
func Register(kind string, open Opener) {
	openers.Lock()
	defer openers.Unlock()
	if kind == "" || openers.of[kind] != nil {
		panic(fmt.Sprintf("rounds: Register: the name %q is empty or taken", kind))
	}
	openers.of[kind] = open
}

// Open makes the learner of a kind from its options in JSON.
func Open(kind string, options []byte, files Files) (Learner, error) {
	openers.RLock()
	open, have := openers.of[kind], slices.Sorted(maps.Keys(openers.of))
	openers.RUnlock()
	if open == nil {
		return nil, fmt.Errorf("rounds: unknown learner %q; have %s; a program imports the package of each learner it uses", kind, strings.Join(have, ", "))
	}
	return open(options, files)
}
