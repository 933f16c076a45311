package pginbox_test

import (
	"log"
	"os"
	"testing"

	"github.com/leat-go/leat/internal/testenv"
)

// TestMain makes this program what its own tests start as processes.
//
//leat:level 1
func TestMain(m *testing.M) {
	if os.Getenv(crashURL) != "" {
		if err := crash(); err != nil {
			log.Fatal(err)
		}
		os.Exit(0)
	}
	if err := testenv.SideBySide(); err != nil {
		log.Fatal(err)
	}
	testenv.Main(m)
}
