// Package where implements the language of conditions on named values, such as
//
//	country=DE and dt>=2026-01 and not (source in (web, 'old app'))
//
// A comparison is a name, an operator (=, !=, <, <=, >, >=, or in with a list) and a value. Names and
// values with other characters than letters, digits and _ . : + - / are quoted by ' or ". Two numbers
// compare as numbers unless the value is quoted, two dates as dates, everything else as text. A date may
// be shortened, and then stands for its whole period: dt=2026-01 holds for all of January, dt<=2026-01
// for all days up to its end, dt>2026-01 from February on. An empty text, which stands for a missing value, is neither
// below nor above anything.
package where

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Condition is a parsed condition. The zero value holds for everything.
type Condition struct {
	text   string
	root   node
	names  []string
	values []value
}

// node reports whether a part of a condition holds, given the value of each name.
type node func(value map[string]string) bool

// maxText limits the length of a condition, and so the depth of its parentheses.
const maxText = 10_000

// Parse reads a condition. An empty text is the condition that holds for everything. The error says
// what is wrong at which character, counted from 1.
func Parse(text string) (*Condition, error) {
	c := &Condition{text: text}
	if strings.TrimSpace(text) == "" {
		return c, nil
	}
	if len(text) > maxText {
		return nil, fmt.Errorf("a condition of %d characters; the limit is %d", len(text), maxText)
	}
	p := &parser{text: text}
	p.next()
	root, err := p.either()
	if err == nil && p.token != "" {
		err = p.expected(`"and", "or" or the end`)
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(p.names)
	c.root, c.names, c.values = root, slices.Compact(p.names), p.values
	return c, nil
}

// String returns the text of the condition.
func (c *Condition) String() string { return c.text }

// Holds reports whether the condition holds for these values. The error names a missing value that the
// condition needs.
func (c *Condition) Holds(value map[string]string) (bool, error) {
	for _, name := range c.names {
		if _, ok := value[name]; !ok {
			return false, fmt.Errorf("has no %s", name)
		}
	}
	for _, v := range c.values {
		_, _, dated := Period(v.text)
		if have := value[v.name]; strings.Count(have, "-") == 2 && !dated {
			if _, _, ok := Period(have); ok {
				return false, fmt.Errorf("has %s=%s, and %q is no date like that", v.name, have, v.text)
			}
		}
	}
	return c.root == nil || c.root(value), nil
}

// parser reads tokens: names, values, operators and parentheses.
type parser struct {
	text   string
	at     int    // where the token after this one may begin
	begin  int    // of the token
	token  string // "" at the end
	quoted bool   // the token is a name or value, not an operator or a word such as and
	broken error
	names  []string
	values []value
}

const operators = "=!<>"

// plain reports whether a character needs no quotes.
func plain(c byte) bool {
	return c >= 0x80 || c == '_' || strings.IndexByte(".:+-/@#%*~$", c) >= 0 || '0' <= c && c <= '9' ||
		'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// next reads the next token.
func (p *parser) next() {
	for p.at < len(p.text) && strings.IndexByte(" \t\n\r", p.text[p.at]) >= 0 {
		p.at++
	}
	p.begin, p.token, p.quoted = p.at, "", false
	if p.at == len(p.text) {
		return
	}
	end := p.at + 1
	switch c := p.text[p.at]; {
	case c == '\'' || c == '"':
		length := strings.IndexByte(p.text[end:], c)
		if length < 0 {
			p.broken = fmt.Errorf("character %d: the quotation mark %c is not closed", p.at+1, c)
			p.at = len(p.text)
			return
		}
		p.token, p.quoted = p.text[end:end+length], true
		p.at = end + length + 1
		return
	case plain(c):
		for end < len(p.text) && plain(p.text[end]) {
			end++
		}
	case strings.IndexByte(operators, c) >= 0:
		for end < len(p.text) && strings.IndexByte(operators, p.text[end]) >= 0 {
			end++
		}
	}
	p.token, p.at = p.text[p.at:end], end
}

// is reports whether the token is the given word or sign, which may be written in capitals.
func (p *parser) is(word string) bool { return !p.quoted && strings.EqualFold(p.token, word) }

// take reads on if the token is that word.
func (p *parser) take(word string) bool {
	if !p.is(word) {
		return false
	}
	p.next()
	return true
}

func (p *parser) expected(what string) error {
	if p.broken != nil {
		return p.broken
	}
	if p.token == "" && !p.quoted {
		return fmt.Errorf("ends where %s should follow", what)
	}
	return fmt.Errorf("character %d: want %s, have %q", p.begin+1, what, p.token)
}

// either reads conditions joined by or.
func (p *parser) either() (node, error) {
	return p.chain("or", p.both, func(a, b node) node {
		return func(v map[string]string) bool { return a(v) || b(v) }
	})
}

// both reads conditions joined by and.
func (p *parser) both() (node, error) {
	return p.chain("and", p.one, func(a, b node) node {
		return func(v map[string]string) bool { return a(v) && b(v) }
	})
}

func (p *parser) chain(word string, part func() (node, error), join func(a, b node) node) (node, error) {
	all, err := part()
	for err == nil && p.take(word) {
		var next node
		if next, err = part(); err == nil {
			all = join(all, next)
		}
	}
	return all, err
}

// one reads a comparison, or a condition in parentheses or after not.
func (p *parser) one() (node, error) {
	if p.take("not") {
		condition, err := p.one()
		return func(v map[string]string) bool { return !condition(v) }, err
	}
	if p.take("(") {
		inner, err := p.either()
		if err == nil && !p.take(")") {
			err = p.expected(`")"`)
		}
		return inner, err
	}
	name, err := p.word("a name")
	if err != nil {
		return nil, err
	}
	p.names = append(p.names, name)
	if p.take("in") {
		return p.list(name)
	}
	operator := p.token
	holds, ok := comparisons[operator]
	if !ok || p.quoted {
		return nil, p.expected(`"=", "!=", "<", "<=", ">", ">=" or "in"`)
	}
	p.next()
	value, err := p.value(name)
	ordered := strings.ContainsAny(operator, "<>")
	return func(v map[string]string) bool {
		have := v[name]
		return (have != "" || !ordered) && holds(value.order(have))
	}, err
}

// list reads values in parentheses, separated by commas.
func (p *parser) list(name string) (node, error) {
	if !p.take("(") {
		return nil, p.expected(`"(" and a list of values`)
	}
	var values []value
	for {
		next, err := p.value(name)
		if err != nil {
			return nil, err
		}
		values = append(values, next)
		if p.take(")") {
			return func(v map[string]string) bool {
				return slices.ContainsFunc(values, func(value value) bool { return value.order(v[name]) == 0 })
			}, nil
		}
		if !p.take(",") {
			return nil, p.expected(`"," or ")"`)
		}
	}
}

// word reads a name or a value.
func (p *parser) word(what string) (string, error) {
	if !p.quoted && (p.token == "" || !plain(p.token[0])) {
		return "", p.expected(what)
	}
	word := p.token
	p.next()
	return word, nil
}

// value reads a value that a name is compared with.
func (p *parser) value(name string) (v value, err error) {
	v = value{name: name, quoted: p.quoted}
	v.text, err = p.word("a value")
	p.values = append(p.values, v)
	return v, err
}

// value is a value of a condition.
type value struct {
	name, text string
	quoted     bool // it is not a number
}

// comparisons reports for each operator whether it holds for an order of −1, 0 or 1.
var comparisons = map[string]func(order int) bool{
	"=": func(c int) bool { return c == 0 }, "==": func(c int) bool { return c == 0 },
	"!=": func(c int) bool { return c != 0 },
	"<":  func(c int) bool { return c < 0 }, "<=": func(c int) bool { return c <= 0 },
	">": func(c int) bool { return c > 0 }, ">=": func(c int) bool { return c >= 0 },
}

// order returns −1, 0 or 1 for a text that is less than, equal to or greater than the value; 0 for a date in its
// period.
func (v value) order(have string) int {
	x, err := strconv.ParseFloat(have, 64)
	y, otherErr := strconv.ParseFloat(v.text, 64)
	if err == nil && otherErr == nil && !math.IsNaN(x) && !math.IsNaN(y) && !v.quoted {
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	}
	at, _, ok := Period(have)
	from, to, dated := Period(v.text)
	switch {
	case !ok || !dated:
		return strings.Compare(have, v.text)
	case at.Before(from):
		return -1
	case at.Before(to):
		return 0
	}
	return 1
}

// periods are the forms of dates, with what the period of each lasts.
var periods = []struct {
	layout              string
	years, months, days int
	rest                time.Duration
}{
	{"2006", 1, 0, 0, 0}, {"2006-01", 0, 1, 0, 0}, {"2006-01-02", 0, 0, 1, 0}, {"20060102", 0, 0, 1, 0},
	{"2006-01-02T15", 0, 0, 0, time.Hour}, {"2006-01-02-15", 0, 0, 0, time.Hour}, {"2006010215", 0, 0, 0, time.Hour},
	{"2006-01-02T15:04", 0, 0, 0, time.Minute}, {"2006-01-02T15:04:05", 0, 0, 0, time.Second},
	{"2006-01-02T150405", 0, 0, 0, time.Second}, {"2006-01-02 15:04:05", 0, 0, 0, time.Second},
	{time.RFC3339, 0, 0, 0, time.Second},
}

// Period returns when the period of a date begins and ends; the period of 2026-01 is the month. It is
// not ok for other texts. Dates without a zone are in UTC.
func Period(text string) (from, to time.Time, ok bool) {
	for _, f := range periods {
		if t, err := time.Parse(f.layout, text); err == nil {
			return t, t.AddDate(f.years, f.months, f.days).Add(f.rest), true
		}
	}
	return from, to, false
}
