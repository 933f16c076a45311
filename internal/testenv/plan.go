package testenv

import "time"

// logName is the file in a server's directory that holds what it printed.
const logName = "server.log"

// plan is how a server is run. It goes to the supervisor as JSON.
type plan struct {
	// Dir belongs to the server and is removed in the end.
	Dir string
	// User is who the server runs as, nil for whoever runs us.
	User *account
	// Files are written into Dir before anything is run.
	Files map[string]string
	// Prepare are commands that run once before the first start.
	Prepare [][]string
	// Argv is the server, which stays in the foreground.
	Argv []string
	// Env is added to the environment.
	Env []string
	// Finish are commands that run after the server's end. Their failures count for nothing.
	Finish [][]string
	// Stop are the signals that end the server, in the order of growing rudeness.
	// SIGKILL follows by itself.
	Stop []stopStep
}

// stopStep is a signal and how long it is given to work.
type stopStep struct {
	Signal int
	Wait   time.Duration
}

// request asks the supervisor to start the server or to send it a signal.
type request struct {
	Start  bool `json:",omitempty"`
	Signal int  `json:",omitempty"`
}

// event is what the supervisor answers.
type event struct {
	Name  string
	PID   int    `json:",omitempty"`
	Error string `json:",omitempty"`
}

const (
	eventHello    = "leat-supervisor"
	eventPrepared = "prepared"
	eventStarted  = "started"
	eventFailed   = "failed"
	eventExited   = "exited"
)
