package slots_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/proof/model/modeltest"
	"github.com/leat-go/leat/internal/proof/model/slots"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestModel(t *testing.T) {
	t.Parallel()
	modeltest.Run(t, slots.Cases())
}
