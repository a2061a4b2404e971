package transforms

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/bochner-ml/bochner/features"
)

// maps holds the maps drawn last, which the lanes of a process share: a pass has
// one, or two where rows are changed at random.
var maps = newCache(2, func(ctx context.Context, sealed string) (features.Map, error) {
	var s features.Sealed
	if err := json.Unmarshal([]byte(sealed), &s); err != nil {
		return nil, err
	}
	r, err := s.Open()
	if err != nil {
		return nil, err
	}
	return r.New()
})

// openMap returns the map of a sealed recipe, drawn once in a process.
func openMap(ctx context.Context, s features.Sealed) (features.Map, error) {
	name, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return maps.get(ctx, string(name))
}

// openGridded returns the map of a sealed recipe whose features have a bound.
func openGridded(ctx context.Context, s features.Sealed) (features.Gridded, error) {
	m, err := openMap(ctx, s)
	if err != nil {
		return nil, err
	}
	g, ok := m.(features.Gridded)
	if !ok {
		return nil, fmt.Errorf("transforms: features of %s have no bound and cannot be put on a grid", s.Kind)
	}
	return g, nil
}
