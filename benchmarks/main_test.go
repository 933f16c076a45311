package benchmarks

import (
	"os"
	"testing"

	"github.com/leat-go/leat/internal/testenv"
)

func TestMain(m *testing.M) {
	if task := os.Getenv(envProcess); task != "" {
		os.Exit(process(task))
	}
	testenv.Main(m)
}
