"""What several tests share: oracles, models with known answers, random drawings, fakes."""
