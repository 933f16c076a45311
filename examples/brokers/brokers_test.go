package brokers_test

import (
	"net"
	"os"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/examples/brokers"
)

// TestRecipes: the blocks of docs/recipes.md that name a file stand in it, so that they
// compile.
func TestRecipes(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/recipes.md")
	require.NoError(t, err)
	parts := strings.Split(string(page), "<!-- compiled in: ")[1:]
	require.Len(t, parts, 4)
	for _, part := range parts {
		path, rest, _ := strings.Cut(part, " -->\n```go\n")
		code, _, closed := strings.Cut(rest, "```")
		require.True(t, closed)
		source, err := os.ReadFile("../../" + path)
		require.NoError(t, err)
		require.Contains(t, unindented(string(source)), unindented(code))
	}
}

// unindented returns code without the blanks at the start of its lines.
func unindented(code string) string {
	lines := strings.Split(code, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}

// TestNobodyThere: both say so at once if no broker answers at the start.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())

	err = brokers.NATS(t.Context(), nil, "nats://"+address, watermill.NopLogger{})
	require.Error(t, err)
	err = brokers.RabbitMQ(t.Context(), nil, "amqp://"+address)
	var refused *net.OpError
	require.ErrorAs(t, err, &refused)
}
