package amqpsink_test

import (
	"log"
	"testing"

	"github.com/leat-go/leat/internal/testenv"
)

func TestMain(m *testing.M) {
	if err := testenv.SideBySide(); err != nil {
		log.Fatal(err)
	}
	testenv.Main(m)
}
