package pginbox_test

import (
	"log"
	"os"
	"testing"

	"github.com/leat-go/leat/internal/testenv"
)

func TestMain(m *testing.M) {
	if os.Getenv(envMemberDatabase) != "" {
		if err := memberProcess(); err != nil {
			log.Fatal(err)
		}
		os.Exit(0)
	}
	if url := os.Getenv(crashURL); url != "" {
		os.Exit(crash(url))
	}
	testenv.Main(m)
}
