package natssink_test

import (
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/leat-go/leat/internal/testenv"
)

// The test's own program is the server as well: one that can be killed.
var (
	serverPort = flag.Int("nats-port", 0, "be a NATS server on this port")
	serverDir  = flag.String("nats-dir", "", "where the server keeps its streams")
)

//leat:level 1
func TestMain(m *testing.M) {
	flag.Parse()
	if *serverPort != 0 {
		if err := serve(*serverPort, *serverDir); err != nil {
			log.Fatal(err)
		}
		return
	}
	testenv.Main(m)
}

// serve runs nats-server with JetStream until a signal comes. The user reader may not write, and relay has the rights
// that docs/brokers.md names.
func serve(port int, dir string) error {
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true, MaxPayload: maxPayload,
		Users: []*server.User{
			{Username: "writer", Password: "w"},
			{Username: "reader", Password: "r", Permissions: &server.Permissions{
				Publish: &server.SubjectPermission{Deny: []string{"k.b"}},
			}},
			{Username: "relay", Password: "r", Permissions: &server.Permissions{
				Publish:   &server.SubjectPermission{Allow: []string{"orders.>", "$JS.API.STREAM.NAMES", "$JS.API.INFO"}},
				Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
			}},
		},
	})
	if err != nil {
		return err
	}
	s.Start()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	<-ended
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}
