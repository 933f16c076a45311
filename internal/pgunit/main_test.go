package pgunit_test

import (
	"testing"

	"github.com/leat-go/leat/internal/testenv"
)

//leat:level 1
func TestMain(m *testing.M) { testenv.Main(m) }
