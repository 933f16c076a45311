package dashboard

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/leat-go/leat/internal/storable"
)

// All bounds of requests and answers (rule S14). Forms and changes are bounded in change.go and
// change_body.go.
const (
	// mostRows bounds the rows of an answer of the API in bytes, mostPageRows those of each list
	// of a page: a byte takes up to six as JSON, and up to five as HTML. A list that is cut
	// continues at its Next.
	mostRows     = 4 << 20
	mostPageRows = 1 << 20
	// mostAnswer bounds an answer in bytes, in addition to ten for each byte of Config.MaxShown,
	// which is the most that a byte in hexadecimal takes as HTML.
	mostAnswer = 32 << 20
	// mostRow bounds a row of a list. In a larger one, each text is cut to mostText.
	mostRow  = 64 << 10
	mostText = 4 << 10
	// firstStep is how many rows a store is asked for first, mostStep later, if rows are small.
	firstStep = 100
	mostStep  = 1000

	// mostRequests is how many requests of a role are answered at a time, mostWaiting how many
	// more wait for their turn.
	mostRequests = 8
	mostWaiting  = 64
	// mostStreams is how many streams of a role are open at a time.
	mostStreams = 50
)

// turns bounds the number of concurrent holders.
type turns struct {
	taken   chan struct{}
	waiting atomic.Int64
}

func newTurns(most int) *turns { return &turns{taken: make(chan struct{}, most)} }

// try takes a turn if there is one.
func (t *turns) try() bool {
	select {
	case t.taken <- struct{}{}:
		return true
	default:
		return false
	}
}

// take waits for a turn.
func (t *turns) take(ctx context.Context) error {
	if t.try() {
		return nil
	}
	defer t.waiting.Add(-1)
	if t.waiting.Add(1) > mostWaiting {
		return errTooMany
	}
	select {
	case t.taken <- struct{}{}:
		return nil
	case <-ctx.Done():
		return errTooMany
	}
}

func (t *turns) end() { <-t.taken }

// turnsOf returns turns for each role, with up to most holders.
func turnsOf(most int) map[Role]*turns {
	all := map[Role]*turns{}
	for _, role := range Roles() {
		all[role] = newTurns(most)
	}
	return all
}

// class returns the role that counts for the bounds of i: the most powerful one. So viewers,
// however many, do not lock operators out.
func (i Identity) class() Role {
	for _, role := range []Role{RoleAdmin, RoleOperator, RolePayload} {
		if i.Has(role) {
			return role
		}
	}
	return RoleViewer
}

// answerError is the error of an answer that is larger than it may be.
type answerError struct{ most int }

// Error names the limit that was reached, and what to do.
func (e *answerError) Error() string {
	return fmt.Sprintf("leat: the answer is larger than %d bytes: ask for less, by a filter or a limit", e.most)
}

// mostAnswer returns the most bytes of an answer.
func (d *Dashboard) mostAnswer() int { return mostAnswer + 10*d.cfg.MaxShown }

// bounded is a buffer of up to most bytes.
type bounded struct {
	bytes.Buffer

	most int
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		return 0, &answerError{b.most}
	}
	return b.Buffer.Write(p)
}

// list is the answer of a request for a list.
type list[T any] struct {
	Items []T `json:"items"`
	// Next is the parameter "after" of the next page, "" at the end.
	Next string `json:"next,omitempty"`
	// Truncated is set if there are more, and no next page: a filter finds them.
	Truncated bool `json:"truncated,omitempty"`

	bytes int
}

// room returns how many bytes of rows an answer may have.
func (c *call) room() int {
	if c.forAPI() {
		return mostRows
	}
	return mostPageRows
}

// add appends a row, unless that would exceed the room of the answer. It always accepts the first
// row.
func (l *list[T]) add(c *call, row T) bool {
	size := weigh(reflect.ValueOf(row))
	if size > mostRow {
		shorten(reflect.ValueOf(&row).Elem())
		size = weigh(reflect.ValueOf(row))
	}
	if size > c.left && len(l.Items) > 0 {
		return false
	}
	c.left -= size
	l.bytes += size
	l.Items = append(l.Items, row)
	return true
}

// weigh returns the approximate size of v as JSON, if its texts need no escapes.
func weigh(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.String:
		return v.Len() + 16
	case reflect.Struct:
		for _, field := range v.Fields() {
			n += weigh(field)
		}
		return n + 16
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return v.Len()
		}
		for i := range v.Len() {
			n += weigh(v.Index(i))
		}
		return n + 16
	default:
		return 16
	}
}

// shorten cuts the texts of v.
func shorten(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.Len() > mostText {
			v.SetString(shortText(v.String()))
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.IsExported() || field.Anonymous {
				shorten(value)
			}
		}
	case reflect.Slice:
		if raw, ok := reflect.TypeAssert[json.RawMessage](v); ok {
			if len(raw) > mostText {
				text, _ := json.Marshal(shortText(string(raw)))
				v.SetBytes(text)
			}
			return
		}
		for i := range v.Len() {
			shorten(v.Index(i))
		}
	default:
	}
}

func shortText(text string) string {
	return fmt.Sprintf("%s… (cut: %d bytes)", storable.AtMost(text, mostText), len(text))
}

// listOf converts items, as many as fit. If they are cut or fill a page, next names the last one.
func listOf[F, T any](c *call, items []F, limit int, convert func(F) T, next func(F) string) list[T] {
	l := list[T]{Items: make([]T, 0, len(items))}
	for i, item := range items {
		if l.add(c, convert(item)) {
			continue
		}
		if next == nil {
			l.Truncated = true
		} else {
			l.Next = next(items[i-1])
		}
		return l
	}
	limit = cmp.Or(limit, defaultLimit)
	if len(items) >= limit && next != nil {
		l.Next = next(items[len(items)-1])
	}
	return l
}

// defaultLimit is how many rows a list has if the request does not set a limit.
const defaultLimit = 100

// paging asks a store for a list in several steps.
type paging[F, T, C any] struct {
	// limit is the number of rows to return, 0 for the default; step is the number to ask for
	// first, 0 for firstStep.
	limit, step int
	// after is the row after which the list begins.
	after   C
	ask     func(after C, n int) ([]F, error)
	convert func(F) T
	cursor  func(F) C
	text    func(C) string
}

// list asks for rows until there are enough, or they fill an answer. So the number of rows that a
// request reads from a store at a time is bounded.
func (p paging[F, T, C]) list(c *call) (list[T], error) {
	l := list[T]{Items: []T{}}
	p.limit = cmp.Or(p.limit, defaultLimit)
	step := p.step
	step = cmp.Or(step, firstStep)
	for len(l.Items) < p.limit {
		n := min(step, p.limit-len(l.Items))
		rows, err := p.ask(p.after, n)
		if err != nil {
			return list[T]{}, err
		}
		for _, row := range rows {
			if !l.add(c, p.convert(row)) {
				l.Next = p.text(p.after)
				return l, nil
			}
			p.after = p.cursor(row)
		}
		if len(rows) < n {
			return l, nil
		}
		if p.step == 0 {
			step = min(mostStep, max(1, c.left*len(l.Items)/max(1, l.bytes)))
		}
	}
	l.Next = p.text(p.after)
	return l, nil
}
