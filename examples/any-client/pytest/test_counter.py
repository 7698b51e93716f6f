from playwright.sync_api import Page, expect


def test_counts_clicks(page: Page):
    page.set_content('<button onclick="this.textContent = Number(this.textContent) + 1">0</button>')
    button = page.get_by_role("button")
    button.click()
    expect(button).to_have_text("1")
