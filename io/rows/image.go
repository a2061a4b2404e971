package rows

import "fmt"

// Image is the shape of images; a zero height means that rows are not images.
type Image struct {
	Height, Width, Channels int
	Planar                  bool // channel by channel, otherwise pixel by pixel
}

// Other returns an error if two shapes are known and differ: pixels would be taken for other pixels.
func (m Image) Other(wanted Image, by string) error {
	if m == wanted || m.Height == 0 || wanted.Height == 0 {
		return nil
	}
	return fmt.Errorf("has images of %s, %s %s", m, by, wanted)
}

func (m Image) String() string {
	text := fmt.Sprintf("%d × %d pixels", m.Height, m.Width)
	switch {
	case m.Planar:
		return fmt.Sprintf("%s in %d channels, one after the other", text, m.Channels)
	case m.Channels > 1:
		return fmt.Sprintf("%s of %d channels", text, m.Channels)
	}
	return text
}
