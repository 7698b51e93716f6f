package counter

import (
	"os"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"
)

const url = `data:text/html,<button onclick="this.textContent = Number(this.textContent) %2B 1">0</button>`

func TestCounts(t *testing.T) {
	pool, release := remote.NewAllocator(t.Context(), os.Getenv("PLAYWRIGHT_POOL_CDP_URL"), remote.NoModifyURL)
	defer release()
	page, closePage := chromedp.NewContext(pool)
	defer closePage()

	if err := chromedp.Do(page, chromedp.Navigate(url), chromedp.Click("button")); err != nil {
		t.Fatal(err)
	}
	if text, err := chromedp.Run(page, chromedp.Text("button")); err != nil || text != "1" {
		t.Errorf("the button shows %q, error %v", text, err)
	}
}
