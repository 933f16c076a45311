package kafkasink_test

import (
	"log"
	"os"
	"testing"

	"github.com/leat-go/leat/internal/testenv"
)

//leat:level 1
func TestMain(m *testing.M) {
	if os.Getenv(envSource) != "" {
		if err := relayProcess(); err != nil {
			log.Fatal(err)
		}
		os.Exit(0)
	}
	if err := testenv.SideBySide(); err != nil {
		log.Fatal(err)
	}
	testenv.Main(m)
}
