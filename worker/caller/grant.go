package caller

import "fmt"

// Token signs what a client needs to join the room by itself, as the
// participant that Dial would be, and tells its identity. It may be used to
// join for ten minutes. An error is the configuration's.
func Token(config Config) (token, identity string, err error) {
	if err := config.Validate(); err != nil {
		return "", "", fmt.Errorf("make token: %w", err)
	}
	config = config.complete()
	if token, err = config.token(); err != nil {
		return "", "", err
	}
	return token, config.Identity, nil
}
