import os

import pytest


@pytest.fixture(scope="session")
def connect_options():
    return {"endpoint": os.environ["PLAYWRIGHT_POOL_WS_URL"]}
