package devserver

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	askEvery  = 10 * time.Millisecond
	askWithin = 2 * time.Second
)

// waitReady returns when the server answers, with an error when it died or
// startWithin went by.
func (s *Server) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startWithin,
		fmt.Errorf("no answer at %s after %s", s.URL, startWithin))
	defer cancel()
	client := &http.Client{Timeout: askWithin, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		if s.answers(ctx, client) {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.done:
			return fmt.Errorf("livekit server ended (%v); its last lines:\n%s", s.err, s.lines.tail())
		case <-ctx.Done():
			return fmt.Errorf("wait for livekit server: %w; its last lines:\n%s", context.Cause(ctx), s.lines.tail())
		}
	}
}

// answers asks for the list of rooms with the keys of this very server: the
// port may have gone to another one, which would answer a plain GET as well.
func (s *Server) answers(ctx context.Context, client *http.Client) bool {
	url := "http" + strings.TrimPrefix(s.URL, "ws") + "/twirp/livekit.RoomService/ListRooms"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+s.listToken(time.Now()))
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK
}

// listToken is signed here, in ten lines, because only the worker's room and
// dispatch may import LiveKit.
func (s *Server) listToken(now time.Time) string {
	enc := base64.RawURLEncoding
	claims := fmt.Sprintf(`{"iss":%q,"nbf":%d,"exp":%d,"video":{"roomList":true}}`,
		s.APIKey, now.Add(-time.Minute).Unix(), now.Add(time.Minute).Unix())
	signed := enc.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + enc.EncodeToString([]byte(claims))
	mac := hmac.New(sha256.New, []byte(s.APISecret))
	mac.Write([]byte(signed))
	return signed + "." + enc.EncodeToString(mac.Sum(nil))
}
