package pginbox_test

import (
	"log"
	"os"
	"testing"

	"github.com/leat-go/leat/internal/testenv"
)

// TestMain makes this program what its own tests start as processes.
func TestMain(m *testing.M) {
	for variable, run := range map[string]func() error{
		envStormDatabase: stormProcess, crashURL: crash,
	} {
		if os.Getenv(variable) == "" {
			continue
		}
		if err := run(); err != nil {
			log.Fatal(err)
		}
		os.Exit(0)
	}
	if err := testenv.SideBySide(); err != nil {
		log.Fatal(err)
	}
	testenv.Main(m)
}
