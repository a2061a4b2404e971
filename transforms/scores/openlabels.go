package scores

import (
	"strings"
	"sync"

	"github.com/bochner-ml/bochner/io/dataset"
	"github.com/bochner-ml/bochner/io/schema"
)

// openLabels converts labels to class indices. Labels that the model does not know get numbers below 0, so
// that every prediction for such a row is wrong. text returns the text of a label from its number.
//
// Labels are read in one goroutine and scored in another.
type openLabels struct {
	known *schema.Vocabulary
	lower map[string]int // classes by their text in lower case; −1 if two classes have the same

	mu     sync.Mutex
	place  map[string]int // index of a label in unseen
	unseen []string
}

// newOpenLabels returns the labels of a model. Labels that are read in lower case are
// compared with its classes in lower case.
func newOpenLabels(known *schema.Vocabulary, text *dataset.LabelText) *openLabels {
	l := &openLabels{known: known}
	if text == nil || !text.Lower {
		return l
	}
	l.lower = make(map[string]int)
	for i, class := range known.Classes {
		key := strings.ToLower(class)
		if _, twice := l.lower[key]; twice {
			i = -1
		}
		l.lower[key] = i
	}
	return l
}

// maxUnseen is how many labels are distinguished: one more than schema.LabelCounts, which then
// counts them without their names.
const maxUnseen = schema.MaxClasses + 1

// index is a dataset.Label.
func (l *openLabels) index(token []byte) (float64, string) {
	if i, ok := l.known.Index(token); ok {
		return float64(i), ""
	}
	if i, ok := l.lower[string(token)]; ok && i >= 0 {
		return float64(i), ""
	}
	if len(token) > schema.MaxLabel {
		token = token[:schema.MaxLabel+1] // LabelCounts does not name longer labels
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i, ok := l.place[string(token)]
	if !ok {
		if i = len(l.unseen); i == maxUnseen {
			return -maxUnseen, ""
		}
		if l.place == nil {
			l.place = make(map[string]int)
		}
		text := string(token)
		l.place[text] = i
		l.unseen = append(l.unseen, text)
	}
	return float64(-1 - i), ""
}

// text returns the label for which index returned a number below 0.
func (l *openLabels) text(y float64) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unseen[-1-int(y)]
}
