package promleat

var ErrRegistered = errRegistered
