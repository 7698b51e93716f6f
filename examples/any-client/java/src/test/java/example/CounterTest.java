package example;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Playwright;
import java.util.Map;
import org.junit.jupiter.api.Test;

class CounterTest {
  @Test
  void countsClicks() {
    var options = new Playwright.CreateOptions().setEnv(Map.of("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1"));
    try (Playwright playwright = Playwright.create(options);
        Browser browser = playwright.chromium().connectOverCDP(System.getenv("PLAYWRIGHT_POOL_CDP_URL"))) {
      Page page = browser.newContext().newPage();
      page.setContent("<button onclick='this.textContent = Number(this.textContent) + 1'>0</button>");
      Locator button = page.locator("button");
      button.click();
      assertThat(button).hasText("1");
    }
  }
}
