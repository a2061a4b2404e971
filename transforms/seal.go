package transforms

import (
	"encoding/json"
	"fmt"

	"github.com/bochner-ml/bochner/features"
)

// sealKey is a sealed recipe as the name under which its map is kept.
func sealKey(s features.Sealed) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic("transforms: sealed recipe that is not JSON: " + err.Error())
	}
	return string(data)
}

// openMap draws the map of a sealed recipe.
func openMap(key string) (features.Gridded, error) {
	var s features.Sealed
	if err := json.Unmarshal([]byte(key), &s); err != nil {
		return nil, err
	}
	r, err := s.Open()
	if err != nil {
		return nil, err
	}
	m, err := r.New()
	if err != nil {
		return nil, err
	}
	g, ok := m.(features.Gridded)
	if !ok {
		return nil, fmt.Errorf("transforms: features of %s have no bound and cannot be put on a grid", s.Kind)
	}
	return g, nil
}
