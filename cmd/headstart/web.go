package main

import "errors"

func (st *stage) serveWeb() error { return errors.New("the page is not part of this build yet") }
