package chaos

import (
	"encoding/json"
	"io"
	"sync"
	"testing"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
)

// TestCommands_ToAProcessThatHasEnded: a lane and a server fault send it commands at the same time. Only
// the race detector makes this test fail.
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
