package dashtest_test

import (
	"testing"

	"github.com/leat-go/leat/internal/testenv"
)

//leat:level 4
func TestMain(m *testing.M) {
	testenv.Supervise()
	testenv.Main(m)
}
