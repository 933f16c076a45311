package dashboard

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// params are the values of a request, by name. A parameter that is not read, or is given twice,
// is an error.
type params struct {
	values url.Values
	read   map[string]bool
	errs   []error
}

func newParams(values url.Values) *params { return &params{values: values, read: map[string]bool{}} }

// mostParams bounds the parameters of a request.
const mostParams = 100

// parseQuery reads all parameters of a query or none: url.URL.Query leaves out what it cannot
// read, and a filter that is left out means everything.
func parseQuery(raw string) (url.Values, error) {
	if n := strings.Count(raw, "&") + 1; n > mostParams {
		return nil, &inputError{fmt.Sprintf("the query has %d parameters, more than %d", n, mostParams)}
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, &inputError{fmt.Sprintf("the query cannot be read: %.200v", err)}
	}
	return values, nil
}

func (p *params) text(name string) string {
	p.read[name] = true
	if len(p.values[name]) > 1 {
		p.errs = append(p.errs, wrong(name, p.values[name][1], "is given twice"))
	}
	return p.values.Get(name)
}

// number returns 0 if the parameter is not given.
func (p *params) number(name string) int64 {
	text := p.text(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		p.errs = append(p.errs, wrong(name, text, "must be a whole number that is not negative"))
	}
	return n
}

func (p *params) limit() int { return p.limitOf(10_000) }

func (p *params) limitOf(most int64) int {
	n := p.number("limit")
	if n > most {
		p.errs = append(p.errs, wrong("limit", p.values.Get("limit"), fmt.Sprintf("must be at most %d", most)))
	}
	return int(n)
}

func (p *params) flag(name string) bool {
	switch text := p.text(name); text {
	case "", "false":
		return false
	case "true":
		return true
	default:
		p.errs = append(p.errs, wrong(name, text, "must be true or false"))
		return false
	}
}

// moments are the accepted formats of a time: RFC 3339, or the format of forms, in UTC.
var moments = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04", time.DateOnly} //nolint:gochecknoglobals // a constant

func moment(text string) (time.Time, error) {
	for _, layout := range moments {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, errors.New("must be a time such as 2006-01-02T15:04:05Z")
}

// time returns the zero Time if the parameter is not given.
func (p *params) time(name string) time.Time {
	text := p.text(name)
	if text == "" {
		return time.Time{}
	}
	at, err := moment(text)
	if err != nil {
		p.errs = append(p.errs, wrong(name, text, err.Error()))
	}
	return at
}

// done returns the error of invalid values, and refuses values that were not read.
func (p *params) done() error {
	for _, name := range slices.Sorted(maps.Keys(p.values)) {
		if !p.read[name] {
			p.errs = append(p.errs, wrong(name, p.values.Get(name), "is not a parameter of this request"))
		}
	}
	return errors.Join(p.errs...)
}
