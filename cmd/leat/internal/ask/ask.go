// Package ask asks operators to confirm a change.
package ask

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Errors of a question. In both cases nothing was changed.
var (
	// ErrDeclined is returned if the operator answered no, or typed something other than requested.
	ErrDeclined = errors.New("not confirmed, nothing was changed")
	// ErrNoTerminal is returned if there is no terminal to ask at.
	ErrNoTerminal = errors.New("standard input is not a terminal: give --yes to confirm, or --dry-run to look")
)

// many is the number of records above which the operator must type the count.
const many = 100

// Question is a change to confirm.
type Question struct {
	// Text describes the change in a sentence.
	Text string
	// Count is the number of records to change.
	Count int
	// Name, if set, is the text that the operator must type.
	Name string
	// TypeCount is set if the operator must type Count even if it is small.
	TypeCount bool
}

// Asker asks at a terminal.
type Asker struct {
	In  io.Reader
	Out io.Writer
	// Terminal is set if an operator can answer.
	Terminal bool
	// Yes confirms all questions without asking.
	Yes bool
}

// Confirm asks q, and returns nil if the answer is yes.
func (a Asker) Confirm(ctx context.Context, q Question) error {
	if a.Yes {
		return nil
	}
	if !a.Terminal {
		return ErrNoTerminal
	}
	want, prompt := "", "Go on? [y/N] "
	switch {
	case q.Name != "":
		want, prompt = q.Name, fmt.Sprintf("Type %q: ", q.Name)
	case q.TypeCount || q.Count > many:
		want = strconv.Itoa(q.Count)
		prompt = fmt.Sprintf("Type %s: ", want)
	}
	if _, err := fmt.Fprintf(a.Out, "%s %s", q.Text, prompt); err != nil {
		return err
	}
	answer, err := a.read(ctx)
	if err != nil {
		return err
	}
	if want == "" {
		answer, want = strings.ToLower(answer), "y"
		if answer == "yes" {
			answer = want
		}
	}
	if answer != want {
		return ErrDeclined
	}
	return nil
}

// read returns a line of In, or the error of ctx as soon as it ends. In that case the goroutine that reads
// runs until the process ends, or In.
func (a Asker) read(ctx context.Context) (string, error) {
	type line struct {
		text string
		err  error
	}
	lines := make(chan line, 1)
	go func() {
		text, err := bufio.NewReader(a.In).ReadString('\n')
		lines <- line{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case l := <-lines:
		if l.err != nil && (!errors.Is(l.err, io.EOF) || l.text == "") {
			if errors.Is(l.err, io.EOF) {
				return "", ErrDeclined
			}
			return "", l.err
		}
		return strings.TrimRight(l.text, "\r\n"), nil
	}
}
