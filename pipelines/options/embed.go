package options

import (
	"github.com/bochner-ml/bochner/models/pca"
)

// Embed holds the options of pipelines.Embed.
type Embed struct {
	Prepare            `omit:"Split,Room"`
	pca.LearnerOptions `group:"Learner"`
	// Directory to create; it must not exist.
	Model string `flag:"model,common" group:"Model and output" placeholder:"DIR"`
	// File for a plot of a sample of the rows along the first two components, .png or .svg.
	Plot string `flag:"picture,common" group:"Model and output" placeholder:"FILE"`
}

// NewEmbed returns the defaults of the command.
func NewEmbed() Embed {
	o := defaults[Embed]()
	o.LearnerOptions = *pca.NewLearnerOptions()
	return o
}
