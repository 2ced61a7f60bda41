"""Two of a product are ordered: at today's price, at that of the catalogue without Pricing, and not at all without Stock."""
import os

import requests

from filibuster_predicates import was_fault_injected

response = requests.get(f"{os.environ['SHOP_URL']}/orders/apples", timeout=10)

if was_fault_injected(grpc="grocery.Stock/Reserve") or was_fault_injected(service="warehouse"):
    assert response.status_code == 503, f"without Stock there is no order, got {response.status_code} {response.text}"
else:
    assert response.status_code == 200, f"expected 200, got {response.status_code} {response.text}"
    estimated = was_fault_injected(service="pricing")
    expected = {"cents": 600 if estimated else 500, "estimated": estimated}
    assert response.json() == expected, f"expected {expected}, got {response.text}"
