package memoutbox_test

import (
	"log"
	"testing"

	"github.com/leat-go/leat/internal/testenv"
)

//leat:level 0
func TestMain(m *testing.M) {
	if err := testenv.SideBySide(); err != nil {
		log.Fatal(err)
	}
	testenv.Main(m)
}
