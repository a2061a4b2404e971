package blas

import "testing"

func TestTilesLenIsTheSumOfTheTiles(t *testing.T) {
	for _, d := range []int{1, TileDim - 1, TileDim, TileDim + 1, 3*TileDim + 7} {
		want, tiles := 0, NewTiles(d)
		for n := -1; n <= len(tiles)+1; n++ {
			if n > 0 && n <= len(tiles) {
				want += len(tiles[n-1])
			}
			if got := TilesLen(d, n); got != int64(want) {
				t.Errorf("%d of the tiles of %d features have %d numbers, want %d", n, d, got, want)
			}
		}
	}
}
