//go:build !linux

package devserver_test

const diesWithParent = false
