package chaos

import (
	"encoding/json"
	"io"
	"sync"
	"testing"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
)

// TestCommands_ToAProcessThatHasEnded: a lane and a fault of a server tell it something
// at the same time. What fails is a race, under the race detector.
func TestCommands_ToAProcessThatHasEnded(t *testing.T) {
	t.Parallel()
	reader, writer := io.Pipe()
	_ = reader.Close()
	c := &commands{to: json.NewEncoder(writer)}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 100 {
				c.send(roles.Command{Do: roles.DoForget})
			}
		})
	}
	group.Wait()
}
