package ask_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/cmd/leat/internal/ask"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConfirm(t *testing.T) {
	t.Parallel()
	few, many, name, typed := ask.Question{Count: 100}, ask.Question{Count: 101}, ask.Question{Count: 1, Name: "billing"}, ask.Question{Count: 3, TypeCount: true}
	for _, c := range []struct {
		what   string
		q      ask.Question
		answer string
		prompt string
		want   error
	}{
		{"yes", few, "y\n", "Go on? [y/N] ", nil},
		{"the word", few, "YES\r\n", "", nil},
		{"no", few, "n\n", "", ask.ErrDeclined},
		{"nothing", few, "\n", "", ask.ErrDeclined},
		{"the end", few, "", "", ask.ErrDeclined},
		{"without a newline", few, "y", "", nil},
		{"many, yes", many, "y\n", "Type 101: ", ask.ErrDeclined},
		{"many, count", many, "101\n", "", nil},
		{"name, yes", name, "y\n", `Type "billing": `, ask.ErrDeclined},
		{"name", name, "billing\n", "", nil},
		{"another name", name, "Billing\n", "", ask.ErrDeclined},
		{"a drop, yes", typed, "y\n", "Type 3: ", ask.ErrDeclined},
		{"a drop, count", typed, "3\n", "", nil},
	} {
		var out bytes.Buffer
		c.q.Text = "Would do it."
		err := ask.Asker{In: strings.NewReader(c.answer), Out: &out, Terminal: true}.Confirm(t.Context(), c.q)
		require.ErrorIs(t, err, c.want, c.what)
		require.Contains(t, out.String(), "Would do it. "+c.prompt, c.what)
	}
}

func TestConfirm_WithoutATerminal(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, ask.Asker{In: strings.NewReader("y\n")}.Confirm(t.Context(), ask.Question{}), ask.ErrNoTerminal)
	require.NoError(t, ask.Asker{Yes: true}.Confirm(t.Context(), ask.Question{Name: "billing"}))
}

// An operator who interrupts the question is not asked on.
func TestConfirm_Interrupted(t *testing.T) {
	t.Parallel()
	in, never := io.Pipe()
	defer never.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, ask.Asker{In: in, Out: io.Discard, Terminal: true}.Confirm(ctx, ask.Question{}), context.Canceled)
}
