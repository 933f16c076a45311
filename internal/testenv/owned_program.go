package testenv

import (
	"context"
	"syscall"
	"time"
)

// Program is a server that this package does not know of itself.
type Program struct {
	// Name is what the name of its directory has in it.
	Name string
	// Plan returns the files to write into its directory, by name, and its command
	// line. It runs in dir, which is removed in the end, and is to listen on port.
	Plan func(dir string, port int) (files map[string]string, argv []string)
	// Probe returns the version of the server at address, and an error until it
	// answers.
	Probe func(ctx context.Context, address string) (version string, err error)
}

// OwnProgram starts a program and waits until it answers. It ends with us, like the
// servers that this package knows.
func OwnProgram(ctx context.Context, p Program) (*Own, error) {
	s, err := serve(ctx, p.Name, programServer{p})
	if err != nil {
		return nil, err
	}

	return newOwn(Service{Address: s.address(), Version: s.version}, s), nil
}

// Log is the end of what the server has printed, for an error.
func (o *Own) Log() string { return o.server.proc.tail(errorTail) }

// programServer runs a program.
type programServer struct {
	program Program
}

func (s programServer) plan(dir string, port int) (plan, error) {
	files, argv := s.program.Plan(dir, port)

	return plan{Files: files, Argv: argv, Stop: []stopStep{{Signal: int(syscall.SIGTERM), Wait: 15 * time.Second}}}, nil
}

func (s programServer) probe(ctx context.Context, _ string, port int) (string, error) {
	return s.program.Probe(ctx, localAddress(port))
}
