package wmsink

var ErrPanic = errPanic
