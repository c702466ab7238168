"""What texts are put together of."""

from __future__ import annotations

PARTS = [
    *"aAbBhHtTpPsSwW:/.,!? \t\n_09",
    *("http://", "https://", "WWW.", "the", "The", "Σ", "ΑΣ", "σ", "İ", "\u0307", "ß", "é", "e\u0301", "K", "\u00a0", "\u3000"),
    *("😀", "❤️", "\u200d", "👩‍💻", "🇩🇪", "🇩", "👍🏽", "🏽", "Ⓜ", "ℹ️", "हिन्दी", "ไทย", "עברית", "العربية", "日本", "Ⱥ", "𐐀"),
]
