package skeleton

import (
	"errors"
	"fmt"

	"github.com/bochner-ml/bochner/io/rowio"
)

// Skeleton is a computation skeleton as data: an acyclic graph whose input nodes are kernels on columns of
// a row. An inner node applies a dual activation to the mean of its inputs' kernels:
//
//	k_v(x, z) = base kernel of v's columns                    at an input node
//	k_v(x, z) = σ̂_v( mean of k_u(x, z) over u ∈ in(v) )        at an inner node
//
// The kernel of the skeleton is the kernel of its single output (Daniely, Frostig, Gupta and Singer 2017,
// §5). A skeleton has one of two forms:
//
//   - in layers: Image or Columns describe a row, Space its columns, and each of Layers takes the layer
//     before as input;
//   - node by node: Columns is the row length, and Nodes lists the nodes in any order.
//
// JSON and YAML use the names in the tags. A skeleton for CIFAR-10:
//
//	image: {height: 32, width: 32, channels: 3, planar: true, crop: 24}
//	space: {circle: 2}
//	layers:
//	  - {conv: 5, stride: 2, activation: {exponential: 4}}
//	  - {conv: 4, stride: 2, activation: {relu: true}}
//	  - {full: true, activation: {relu: true}}
type Skeleton struct {
	Image   Image   `json:"image,omitzero"`
	Columns int     `json:"columns,omitempty"` // row length, if there is no image
	Space   Space   `json:"space,omitzero"`    // of all inputs, for the form in layers
	Layers  []Layer `json:"layers,omitempty"`  // from the inputs upwards; the last has one node
	Nodes   []Node  `json:"nodes,omitempty"`   // instead of layers
}

// Image is the layout of an image in a row. The columns of a pixel are adjacent (row, column, channel) or, if
// Planar is set, each channel is a separate image (channel, row, column), as in CIFAR files.
type Image struct {
	Height   int  `json:"height"`
	Width    int  `json:"width"`
	Channels int  `json:"channels"`
	Planar   bool `json:"planar,omitempty"`
	// Crop > 0 uses only the middle Crop×Crop pixels as inputs, from row (Height−Crop)/2 and column
	// (Width−Crop)/2 on, rounded down. Rows keep their length.
	Crop int `json:"crop,omitempty"`
}

// Layer is a layer of inner nodes with the same activation. It has a node for each window of Conv×Conv
// nodes of the layer below, with windows Stride apart (0 means 1) and inside the border; with Full it has
// one node that takes all nodes below. Windows of the first layer contain all inputs of their pixels.
type Layer struct {
	Conv       int        `json:"conv,omitempty"`
	Stride     int        `json:"stride,omitempty"`
	Full       bool       `json:"full,omitempty"`
	Activation Activation `json:"activation"`
}

// Node is a node of a skeleton: an input node with Space and Columns, or an
// inner node with Activation and Inputs.
type Node struct {
	Name  string `json:"name"`           // unique, not empty, at most 100 bytes
	Space Space  `json:"space,omitzero"` // what the columns are
	// Columns are 0-based and distinct; exactly one if Space is circle, binary or categorical.
	Columns    []int      `json:"columns,omitempty"`
	Activation Activation `json:"activation,omitzero"`
	Inputs     []string   `json:"inputs,omitempty"` // names, all distinct
}

// Limits on the size of a skeleton, in either form.
const (
	maxNodes = 100_000   // before unneeded nodes are dropped
	maxEdges = 4_000_000 // inputs of inner nodes and columns of input nodes, together
	maxName  = 100
)

// Validate returns an error that names the wrong node, layer or field.
func (s Skeleton) Validate() error {
	_, err := s.compile()
	return err
}

// checkRow checks the description of a row and returns the row length.
func (s *Skeleton) checkRow() (int, error) {
	if s.Image == (Image{}) {
		if s.Columns < 1 || s.Columns > rowio.MaxDim {
			return 0, fmt.Errorf("skeleton: columns must be 1 to %d (have %d)", rowio.MaxDim, s.Columns)
		}
		return s.Columns, nil
	}
	m := s.Image
	for _, f := range []struct {
		name  string
		value int
	}{{"height", m.Height}, {"width", m.Width}, {"channels", m.Channels}} {
		if f.value < 1 || f.value > rowio.MaxDim {
			return 0, fmt.Errorf("skeleton: image: %s must be 1 to %d (have %d)", f.name, rowio.MaxDim, f.value)
		}
	}
	// Each factor is at most 2²⁰, so products do not overflow.
	n := int64(m.Height) * int64(m.Width)
	if n > rowio.MaxDim || n*int64(m.Channels) > rowio.MaxDim {
		return 0, fmt.Errorf("skeleton: image: %d×%d pixels of %d channels are more than %d columns", m.Height, m.Width,
			m.Channels, rowio.MaxDim)
	}
	switch {
	case s.Columns != 0:
		return 0, errors.New("skeleton: columns and image: give one of them")
	case s.Nodes != nil:
		return 0, errors.New("skeleton: image: an image takes layers, not nodes")
	case m.Crop < 0 || m.Crop > min(m.Height, m.Width):
		return 0, fmt.Errorf("skeleton: image: crop must be 0 (the whole image) to %d (have %d)",
			min(m.Height, m.Width), m.Crop)
	}
	return int(n) * m.Channels, nil
}
